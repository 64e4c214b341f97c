//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
	"hermes-box/ops/lock"
)

func (l *lab) lock(t *testing.T) *lock.Lock {
	t.Helper()
	pinned, err := lock.Load(filepath.Join(l.root, "hermes-box.lock"))
	if err != nil {
		t.Fatal(err)
	}
	return pinned
}

func versions(t *testing.T, l *lab) {
	pinned := l.lock(t)
	for name, args := range map[string][]string{
		"node": {"node", "--version"}, "uv": {"uv", "--version"}, "claude": {"claude", "--version"},
		"codex": {"codex", "--version"}, "hermes": {"hermes", "--version"},
		"executor": {"sudo", "podman", "exec", "hermes-box-executor", "/app/bin/executor", "--version"},
	} {
		if out := l.inBox(t, args...); !strings.Contains(out, pinned.Components[name].Version) {
			t.Errorf("%s answers %q, pinned is %s", name, out, pinned.Components[name].Version)
		}
	}
	l.inBox(t, "npm", "--version")
	for _, p := range pinned.Packages {
		if out := l.inBox(t, "dpkg-query", "-W", "-f", "${Version}", p.Name); out != p.Version {
			t.Errorf("package %s is %q, pinned is %s", p.Name, out, p.Version)
		}
	}
}

func status(t *testing.T, l *lab) {
	var st ops.Status
	l.json(t, &st, "status")
	if st.State != "running" || !st.Live || len(st.Components) != 6 || len(st.Platform) != 0 {
		t.Errorf("status: %+v", st)
	}
	for _, c := range st.Components {
		if c.State != "healthy" && c.State != "setup-required" || c.Applied != c.Desired {
			t.Errorf("%s: %+v", c.Name, c)
		}
	}
	for _, unit := range []string{"hermes.service", "executor.service"} {
		if out := strings.TrimSpace(l.inBox(t, "systemctl", "is-active", unit)); out != "active" {
			t.Errorf("%s is %s", unit, out)
		}
	}
	o := l.run(t, "", "doctor")
	t.Log("\n" + o.stdout)
	if o.status != 0 {
		t.Errorf("doctor: status %d: %s", o.status, o.stderr)
	}
}

func loopback(t *testing.T, _ *lab) {
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", executorPort))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	listeners := 0
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) > 3 && f[3] == "0A" && (strings.HasSuffix(f[1], fmt.Sprintf(":%04X", executorPort)) || strings.HasSuffix(f[1], fmt.Sprintf(":%04X", dashboardPort))) {
				listeners++
				if !strings.HasPrefix(f[1], "0100007F:") {
					t.Errorf("a port of the box listens at %s", f[1])
				}
			}
		}
	}
	if listeners == 0 {
		t.Error("found no listener of the box in /proc/net")
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		ip := a.(*net.IPNet).IP
		if ip.IsLoopback() {
			continue
		}
		if c, err := net.DialTimeout("tcp", net.JoinHostPort(ip.String(), fmt.Sprint(executorPort)), 2*time.Second); err == nil {
			c.Close()
			t.Errorf("%s answers", ip)
		}
	}
}

func isolation(t *testing.T, l *lab) {
	if out := l.run(t, "", "exec", "--", "findmnt", "-rno", "TARGET", "-t", "virtiofs,9p,fuse.sshfs,nfs,nfs4"); out.stdout != "" {
		t.Errorf("host mounts: %s", out.stdout)
	}
	if out := l.run(t, "", "exec", "--", "printenv", "SSH_AUTH_SOCK"); out.status != 1 || out.stdout != "" {
		t.Errorf("an agent is forwarded: %+v", out)
	}
	if out := l.run(t, "", "exec", "--", "claude", "update"); !strings.Contains(out.stdout+out.stderr, "disabled") {
		t.Errorf("claude update: %+v", out)
	}
	for _, agent := range []string{"hermes", "codex"} {
		if out := l.run(t, "", "exec", "--", agent, "update"); out.status == 0 {
			t.Errorf("%s update: %+v", agent, out)
		}
	}
	// Codex's daemon would copy Codex onto the data disk and update it there.
	if out := l.inBox(t, "codex", "features", "list"); !regexp.MustCompile(`(?m)^daemon_auto_start\s.*\sfalse\s*$`).MatchString(out) {
		t.Errorf("codex features: %s", out)
	}
	for _, path := range []string{"/opt/hermes-box/current/claude", "/opt/hermes-box/current/codex", "/opt/hermes-box/current/hermes"} {
		if out := l.run(t, "", "exec", "--", "touch", path+"/x"); out.status == 0 {
			t.Errorf("agent can write into %s", path)
		}
	}
	if out := l.run(t, "", "exec", "--", "sh", "-c", "ls /var/run/docker.sock /run/podman/podman.sock"); out.status == 0 {
		t.Errorf("a container socket: %s", out.stdout)
	}
}

func execContract(t *testing.T, l *lab) {
	odd := []string{"a b", `"q" 'q'`, "new\nline", "", "--flag", "-n", "$HOME `id` \\", "*", "\xff\xfe", "ü"}
	out := l.inBox(t, append([]string{"printf", `%s\0`}, odd...)...)
	if want := strings.Join(odd, "\x00") + "\x00"; out != want {
		t.Errorf("arguments arrive as %q, want %q", out, want)
	}
	for _, status := range []int{0, 1, 2, 77, 126, 127, 128, 130, 200, 254, 255} {
		if o := l.run(t, "", "exec", "--", "sh", "-c", fmt.Sprintf("exit %d", status)); o.status != status {
			t.Errorf("exit %d is reported as %d: %s", status, o.status, o.stderr)
		}
	}
	var all bytes.Buffer
	for i := range 300_000 {
		all.WriteByte(byte(i * 7 >> 3))
	}
	if o := l.run(t, all.String(), "exec", "--", "cat"); o.stdout != all.String() {
		t.Errorf("%d bytes of stdin come back as %d", all.Len(), len(o.stdout))
	}
	o := l.run(t, "", "exec", "--", "sh", "-c", "echo out; echo err >&2; pwd; id -un")
	if o.stdout != "out\n/workspace\nagent\n" && o.stdout != "out\n/home/agent/workspace\nagent\n" || o.stderr != "err\n" {
		t.Errorf("streams: %q %q", o.stdout, o.stderr)
	}
	if out := l.inBox(t, "sh", "-c", "echo $CLAUDE_CONFIG_DIR $CODEX_HOME $HERMES_HOME"); out != "/home/agent/.claude /home/agent/.codex /home/agent/.hermes\n" {
		t.Errorf("environment: %q", out)
	}
}

// adapter runs the Exec and Remote tests of package limactl/ssh over real ssh, as the owner of the box. They cover cases
// that cannot be tested through hermes-box exec, such as a client that is killed.
func adapter(t *testing.T, l *lab) {
	program := filepath.Join(l.root, "ssh.test")
	if out, err := exec.Command("go", "test", "-c", "-o", program, "../limactl/ssh").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	argv := []string{program, "-test.v", "-test.run=^Test(Exec|Remote).*$/^real$"}
	if os.Geteuid() == 0 {
		argv = append([]string{"runuser", "-u", l.user.Username, "--"}, argv...)
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = append(os.Environ(), "HERMES_BOX_LAB_BOX="+l.limaHome()+":e2e")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestExecArguments/real") {
		t.Errorf("%v\n%s", err, out)
	}
}
