package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/limactl"
	"hermes-box/limactl/rehearsal"
)

// machine is a rehearsal machine with a config, a lock and a mirror that has every artifact of it.
type machine struct {
	t            *testing.T
	dir          string
	limactl, ssh string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir, err := os.MkdirTemp("", "hb") // short: Lima's sockets have to fit
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, dir: dir}
	t.Cleanup(func() {
		for _, in := range m.instances() {
			m.run("limactl", "delete", "--force", in)
		}
		os.RemoveAll(dir)
	})
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if m.limactl, m.ssh, err = rehearsal.Install(bin); err != nil {
		t.Fatal(err)
	}
	executor, dashboard := freePorts(t)
	m.write("hermes-box.yaml", fmt.Appendf(nil, "schema: 1\nname: main\nports: {executor: %d, dashboard: %d}\n", executor, dashboard))
	m.write("hermes-box.lock", m.mirror(lockFixture(t)))
	return m
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

var (
	wanted = regexp.MustCompile(`(name: )(\S+)(\n\s+url: http://\S+\n\s+size: )1000(\n\s+digest: )sha256:[0-9a-f]{64}`)
	image  = regexp.MustCompile(`(url: oci://\S+@)sha256:[0-9a-f]{64}(\n\s+size: )1000(\n\s+digest: )sha256:[0-9a-f]{64}`)
)

// mirror makes bytes for every artifact of the fixture and gives the lock that names them.
func (m *machine) mirror(lock []byte) []byte {
	put := func(data []byte) string {
		sum := sha256.Sum256(data)
		m.write("mirror/sha256/"+hex.EncodeToString(sum[:]), data)
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	lock = wanted.ReplaceAllFunc(lock, func(text []byte) []byte {
		f := wanted.FindSubmatch(text)
		data := []byte("bytes of " + string(f[2]))
		return fmt.Appendf(nil, "%s%s%s%d%s%s", f[1], f[2], f[3], len(data), f[4], put(data))
	})
	config, layer := []byte(`{"architecture":"amd64","os":"linux"}`), []byte("a layer")
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"%s","size":%d},`+
		`"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"%s","size":%d}]}`,
		put(config), len(config), put(layer), len(layer))
	return image.ReplaceAllFunc(lock, func(text []byte) []byte {
		f := image.FindSubmatch(text)
		digest := put(manifest)
		return fmt.Appendf(nil, "%s%s%s%d%s%s", f[1], digest, f[2], len(manifest)+len(config)+len(layer), f[3], digest)
	})
}

func (m *machine) lima() string { return filepath.Join(m.dir, "home", "lima") }

// cmd is hermes-box on this machine; crash names the step after which it is killed.
func (m *machine) cmd(crash string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	m.t.Cleanup(cancel)
	c := exec.CommandContext(ctx, "hermes-box", args...)
	if args[0] == "limactl" {
		c = exec.CommandContext(ctx, m.limactl, args[1:]...)
	}
	c.Dir = m.dir
	c.Env = append(os.Environ(), "HERMES_BOX_HOME="+filepath.Join(m.dir, "home"), "HERMES_BOX_CONFIG=", "HERMES_BOX_LIMACTL="+m.limactl,
		"PATH="+filepath.Dir(m.ssh)+":"+os.Getenv("PATH"), "LIMA_HOME="+m.lima(), crashVariable+"="+crash)
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

// names are those in NDJSON of VMs or disks.
func names(ndjson string) (all []string) {
	for line := range strings.Lines(ndjson) {
		var named struct{ Name string }
		if json.Unmarshal([]byte(line), &named) == nil && named.Name != "" {
			all = append(all, named.Name)
		}
	}
	return all
}

// left is all that is there of boxes: records, journals, VMs and disks.
func (m *machine) left() (all []string) {
	entries, _ := os.ReadDir(filepath.Join(m.dir, "home", "boxes"))
	for _, e := range entries {
		all = append(all, e.Name())
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

// crash ends the process as a power cut would, after the step the test has named.
func crash(step string) {
	if step == os.Getenv(crashVariable) {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

// makeVM makes a disk and a VM that has it, as Lima does and without hermes-box.
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

// finished makes the VM, the disk and the record of a box, stopped.
func (m *machine) finished() {
	m.t.Helper()
	m.makeVM("main", "main-data")
	dir, err := filepath.EvalSymlinks(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	m.write("home/boxes/main.json", fmt.Appendf(nil, `{"schema":1,"name":"main","config_dir":%q,"instance":"main","disk":"main-data","created":"2026-01-01T00:00:00Z","ready":true}`, dir))
	if out, _, err := m.run("status", "--json"); err != nil || !strings.Contains(out, `"state":"`+string(limactl.Stopped)+`"`) {
		m.t.Fatalf("status of the box made by hand: %v %s", err, out)
	}
}
