package ssh_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
)

// BenchmarkExec compares Exec, through the helper and through the script, with a bare ssh. They run in turns, so that
// a busy machine slows down all of them equally. The command is /bin/true, because true is a builtin of the shell and
// starts no process.
func BenchmarkExec(b *testing.B) {
	home, name, ok := strings.Cut(os.Getenv("HERMES_BOX_LAB_BOX"), ":")
	if !ok {
		b.Skip("HERMES_BOX_LAB_BOX does not name a running box")
	}
	var helper, script, bare time.Duration
	took := func(sum *time.Duration, run func() error) {
		begin := time.Now()
		if err := run(); err != nil {
			b.Fatal(err)
		}
		*sum += time.Since(begin)
	}
	exec1 := func(helper string) func() error {
		c := limactl.New(limactl.Config{Home: home, Helper: helper})
		return func() error { return c.Exec(b.Context(), name, ssh.Exec{Args: []string{"/bin/true"}}) }
	}
	with, without := exec1(labHelper()), exec1("")
	for b.Loop() {
		took(&helper, with)
		took(&script, without)
		took(&bare, func() error {
			return exec.Command("ssh", "-F", filepath.Join(home, name, "ssh.config"), "lima-"+name, "/bin/true").Run()
		})
	}
	b.ReportMetric(float64(helper)/float64(bare), "helper-ratio")
	b.ReportMetric(float64(script)/float64(bare), "script-ratio")
	b.ReportMetric(float64(bare.Microseconds())/1000/float64(b.N), "bare-ms/op")
}
