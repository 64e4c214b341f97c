package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes-box/internal/rehearsal"
	"hermes-box/internal/rehearsal/demo"
	"hermes-box/internal/ttytest"
	"hermes-box/limactl"
)

// machine is a directory with stand-ins for limactl, ssh and the guest, set up like a demo. hermes-box runs on it
// without --demo, with HERMES_BOX_HOME and PATH set.
type machine struct {
	t       *testing.T
	dir     string
	bin     string // directory of its limactl and ssh
	limactl string // path of limactl; some tests replace it
	mirror  string // directory with the parts of Executor's image
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir := shortDir(t)
	d, err := demo.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, dir: dir, limactl: filepath.Join(d.Bin, "limactl"), bin: d.Bin, mirror: d.Mirror}
	t.Cleanup(func() {
		for _, in := range m.instances() {
			m.run("limactl", "delete", "--force", in)
		}
	})
	executor, dashboard := freePorts(t)
	m.write("hermes-box.yaml", fmt.Appendf(nil, "schema: 1\nname: main\nports: {executor: %d, dashboard: %d}\n", executor, dashboard))
	return m
}

// inMemory returns a directory in memory that has room for boxes and lets programs run, or "". Tests are faster there,
// because a create syncs many files to disk.
var inMemory = sync.OnceValue(func() string {
	var fs unix.Statfs_t
	if unix.Statfs("/dev/shm", &fs) != nil || int64(fs.Bavail)*int64(fs.Bsize) < 3<<30 {
		return ""
	}
	dir, err := os.MkdirTemp("/dev/shm", "hb")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "true")
	if os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755) != nil || exec.Command(script).Run() != nil {
		return ""
	}
	return "/dev/shm"
})

// shortDir returns a temporary directory with a short name: the paths of Lima's sockets must not be too long.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(inMemory(), "hb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (m *machine) write(name string, data []byte) {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) lima() string { return filepath.Join(m.dir, "home", "lima") }

// cmd returns a command that runs hermes-box, or limactl, on this machine; crash names the step after which
// hermes-box is killed.
func (m *machine) cmd(crash string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	m.t.Cleanup(cancel)
	ttytest.HearSignals()
	c := exec.CommandContext(ctx, "hermes-box", args...)
	if args[0] == "limactl" {
		c = exec.CommandContext(ctx, m.limactl, args[1:]...)
	}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGABRT) } // SIGABRT prints the goroutines, which shows where it hangs
	c.WaitDelay = 5 * time.Second
	c.Dir = m.dir
	c.Env = append(os.Environ(), "HERMES_BOX_HOME="+filepath.Join(m.dir, "home"), "HERMES_BOX_CONFIG=", "HERMES_BOX_LIMACTL="+m.limactl,
		"PATH="+m.bin+":"+os.Getenv("PATH"), "LIMA_HOME="+m.lima(), crashVariable+"="+crash)
	return c
}

func (m *machine) run(args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	c := m.cmd("", args...)
	c.Stdout, c.Stderr = &out, &errs
	err = c.Run()
	return out.String(), errs.String(), err
}

func (m *machine) instances() []string {
	out, _, _ := m.run("limactl", "list", "--json")
	return names(out)
}

// names returns the names in a list of VMs or disks in NDJSON.
func names(ndjson string) (all []string) {
	for line := range strings.Lines(ndjson) {
		var named struct{ Name string }
		if json.Unmarshal([]byte(line), &named) == nil && named.Name != "" {
			all = append(all, named.Name)
		}
	}
	return all
}

// inventory lists the records, journals, keys, disks and VMs of all boxes.
func (m *machine) inventory() (all []string) {
	entries, _ := os.ReadDir(filepath.Join(m.dir, "home", "boxes"))
	for _, e := range entries {
		all = append(all, e.Name())
	}
	entries, _ = os.ReadDir(filepath.Join(m.dir, "home", "keys"))
	for _, e := range entries {
		all = append(all, "key "+e.Name())
	}
	disks, _, _ := m.run("limactl", "disk", "list", "--json")
	for _, d := range names(disks) {
		all = append(all, "disk "+d)
	}
	for _, in := range m.instances() {
		all = append(all, "vm "+in)
	}
	return all
}

const crashVariable = "HERMES_BOX_CLI_TEST_CRASH"

// signalVariable names a step that a run with file descriptor 3 ends with SIGTERM. The run goes on when the test closes
// the other end of that descriptor.
const signalVariable = "HERMES_BOX_CLI_TEST_SIGNAL"

// afterStep kills the process, signals it, or reboots a box, after the step that the test named.
func afterStep(step string) {
	if step == os.Getenv(signalVariable) {
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
		_, _ = os.NewFile(3, "test").Read(make([]byte, 1))
	}
	if step == os.Getenv(crashVariable) {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if at, instance, _ := strings.Cut(os.Getenv(rebootVariable), " "); at == step {
		reboot(os.Getenv("LIMA_HOME"), instance)
	}
}

// makeVM makes a disk and a VM that uses it, with limactl alone.
func (m *machine) makeVM(name, disk string) {
	m.t.Helper()
	if _, stderr, err := m.run("limactl", "disk", "create", disk, "--size=1GiB"); err != nil {
		m.t.Fatal(err, stderr)
	}
	c := m.cmd("", "limactl", "create", "--tty=false", "--name="+name, "-")
	c.Stdin = strings.NewReader("images: [{location: /etc/hostname}]\nadditionalDisks: [{name: " + disk + ", format: false}]\n")
	if out, err := c.CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
}

func inject(t *testing.T, m *machine, faults ...rehearsal.Fault) {
	t.Helper()
	if err := rehearsal.Inject(m.lima(), faults...); err != nil {
		t.Fatal(err)
	}
}

func heal(t *testing.T, m *machine, faults ...rehearsal.Fault) {
	t.Helper()
	if err := rehearsal.Heal(m.lima(), faults...); err != nil {
		t.Fatal(err)
	}
}

// makeStoppedBox makes the VM, the disk and the record of a stopped box, without running create.
func (m *machine) makeStoppedBox() {
	m.t.Helper()
	m.makeVM("main", "main-data")
	dir, err := filepath.EvalSymlinks(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	m.write("home/boxes/main.json", fmt.Appendf(nil, `{"schema":1,"name":"main","config_dir":%q,"instance":"main","disk":"main-data","created":"2026-01-01T00:00:00Z","ready":true}`, dir))
	if out, _, err := m.run("status", "--json"); err != nil || !strings.Contains(out, `"state":"`+string(limactl.Stopped)+`"`) {
		m.t.Fatalf("status of the box made without create: %v %s", err, out)
	}
}
