package guest_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hermes-box/guest"
	"hermes-box/guest/durable"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
	"hermes-box/internal/rehearsal/simulate"
)

// box is a simulated machine with a data disk, and methods that do what the host does.
type box struct {
	*guest.Guest
	t      testing.TB
	sys    *simulate.Machine
	mu     sync.Mutex
	events []protocol.Event
}

const dataUUID = "11111111-2222-4333-8444-555555555555"

var ports = protocol.Ports{Executor: 4788, Dashboard: 9119}

func newBox(t testing.TB) *box { return newBoxAt(t, tempDir(t)) }

// inMemory returns a directory in memory from which programs can be run, or "". An apply syncs a hundred times, and the
// crash tests make hundreds of machines. The tests take a minute on a disk, and some seconds in memory.
var inMemory = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("/dev/shm", "hermes-box-test-")
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

func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(inMemory(), "hermes-box-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newBoxAt(t testing.TB, root string) *box {
	b := openBox(t, root)
	for _, at := range []string{"/data", "/home/agent", "/workspace"} {
		must(t, b.sys.SetMount(at, dataUUID))
	}
	must(t, os.MkdirAll(b.Path("/home"), 0o755))
	must(t, os.Symlink("../data/home/agent", b.Path("/home/agent")))
	must(t, os.Symlink("data/home/agent/workspace", b.Path("/workspace")))
	for name, text := range map[string]string{
		"proc/sys/kernel/random/boot_id":          "boot-1\n",
		"usr/bin/python3.13":                      "",
		"var/lib/hermes-box/data.uuid":            dataUUID + "\n",
		"data/home/agent/workspace/sentinel":      "mine",
		"data/home/agent/.claude/settings.json":   "{}",
		"usr/local/bin/stranger":                  "not ours",
		"opt/hermes-box/releases/claude/stranger": "not ours",
	} {
		b.write(name, text)
	}
	return b
}

const diskSize = 4 << 30

var blankDisk = machine.Disk{Size: diskSize, Blank: true}

// newRoot returns a machine with a fresh root disk and this data disk.
func newRoot(t testing.TB, data machine.Disk) *box {
	root := tempDir(t)
	must(t, simulate.Open(root).AddDisk("/dev/vdb", data))
	b := openBox(t, root)
	for name, text := range map[string]string{
		"home/agent/.ssh/authorized_keys": "ssh-ed25519 AAAA lima\n",
		"etc/skel/.bashrc":                "# bash\n",
		"etc/skel/.config/a":              "a\n",
		"etc/fstab":                       "/dev/vda / ext4 defaults 0 1\n",
		"etc/environment":                 "#LIMA-START\nno_proxy=localhost\n#LIMA-END\n",
	} {
		b.write(name, text)
	}
	return b
}

func (b *box) write(name, text string) {
	b.t.Helper()
	must(b.t, os.MkdirAll(filepath.Dir(b.Path(name)), 0o755))
	mode := fs.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	must(b.t, os.WriteFile(b.Path(name), []byte(text), mode))
}

func (b *box) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.Path(name))
	must(b.t, err)
	return string(text)
}

func (b *box) has(name string) bool {
	_, err := os.Lstat(b.Path(name))
	return err == nil
}

// failAt makes one effect or read of the machine fail from now on.
func (b *box) failAt(what string) {
	b.sys.Fail = func(effect string) error {
		if effect == what {
			return errors.New("sabotage")
		}
		return nil
	}
}

// openBox opens an existing machine, as a new process of the helper does.
func openBox(t testing.TB, root string) *box {
	b := &box{t: t, sys: simulate.Open(root)}
	b.Guest = &guest.Guest{Tree: durable.Tree{Root: root}, Machine: b.sys, Emit: func(e protocol.Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.events = append(b.events, e)
	}}
	return b
}

var (
	firstOnce sync.Once
	firstBox  *box
)

// newFirst returns a box of generation 1. It is made once and copied, because every apply syncs a hundred times.
func newFirst(t testing.TB) *box {
	t.Helper()
	firstOnce.Do(func() {
		root, err := os.MkdirTemp(inMemory(), "hermes-box-first-")
		must(t, err)
		firstBox = newBoxAt(t, root)
		must(t, firstBox.apply(1))
	})
	return firstBox.copyBox(t)
}

func TestMain(m *testing.M) {
	status := m.Run()
	if firstBox != nil {
		os.RemoveAll(firstBox.Root)
	}
	os.Exit(status)
}

// copyBox returns a copy of the machine. If a staged file disappears during the copy, copyBox starts again.
func (b *box) copyBox(t testing.TB) *box {
	dir := tempDir(t)
	for n := 0; ; n++ {
		root := filepath.Join(dir, strconv.Itoa(n))
		err := os.CopyFS(root, os.DirFS(b.Root))
		if !errors.Is(err, fs.ErrNotExist) {
			must(t, err)
			return openBox(t, root)
		}
		must(t, os.RemoveAll(root))
	}
}

// send sends objects to the guest.
func (b *box) send(o objects) {
	b.t.Helper()
	_, err := b.Objects().Receive(context.Background(), o.tar())
	must(b.t, err)
}

// apply sends and applies a generation, or some of its components.
func (b *box) apply(generation int, names ...string) error {
	b.t.Helper()
	tx, o := transaction(generation, names...)
	b.send(o)
	_, err := b.Apply(context.Background(), tx)
	return err
}

// versions returns the recorded versions of the applied components.
func (b *box) versions() map[string]string {
	b.t.Helper()
	state, err := b.AppliedState()
	must(b.t, err)
	v := map[string]string{}
	for name, c := range state {
		v[name] = c.Version
	}
	return v
}

// tree returns the files that matter to users and services, by path: the releases, the symlinks, the records and the
// data disk.
func (b *box) tree() map[string]string {
	b.t.Helper()
	t := map[string]string{}
	for _, top := range []string{"opt", "usr/local/bin", "var/lib/hermes-box", "data"} {
		err := filepath.WalkDir(filepath.Join(b.Root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(b.Root, path)
			switch {
			case strings.HasPrefix(name, "var/lib/hermes-box/objects/") || strings.HasSuffix(name, "mutex"):
			case d.Type()&fs.ModeSymlink != 0:
				t[name], _ = os.Readlink(path)
			case d.Type().IsRegular():
				data, err := os.ReadFile(path)
				t[name] = string(data)
				return err
			}
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			b.t.Fatal(err)
		}
	}
	return t
}

func codeOf(err error) string {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
