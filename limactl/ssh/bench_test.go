package ssh_test

import (
	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// labBox is the running box of HERMES_BOX_LAB_BOX.
func labBox(b *testing.B) (*limactl.Client, string) {
	home, name, ok := strings.Cut(os.Getenv("HERMES_BOX_LAB_BOX"), ":")
	if !ok || os.Geteuid() == 0 {
		b.Skip("HERMES_BOX_LAB_BOX does not name a running box, or we are root")
	}
	return limactl.New(limactl.Config{Home: home}), name
}

// BenchmarkExec tells the price of exactness over a bare ssh, in turns: a machine that is busy slows both. It is
// /bin/true, for true alone is the shell's own and runs no program.
func BenchmarkExec(b *testing.B) {
	c, name := labBox(b)
	var ours, bare time.Duration
	for b.Loop() {
		begin := time.Now()
		if err := c.Exec(b.Context(), name, ssh.Exec{Args: []string{"/bin/true"}}); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(begin)
		begin = time.Now()
		if out, err := exec.Command("ssh", "-F", filepath.Join(c.Dir(name), "ssh.config"), "lima-"+name, "/bin/true").CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		bare += time.Since(begin)
	}
	b.ReportMetric(float64(ours)/float64(bare), "ratio")
	b.ReportMetric(float64(bare.Milliseconds())/float64(b.N), "bare-ms/op")
}
