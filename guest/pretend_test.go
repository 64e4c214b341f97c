package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes-box/guest/protocol"
)

// pretend is the least of a machine that bootstrap, the services and status can be tried on: a data disk, mounts
// by fstab, units that start. Everything it is asked to do is written down.
type pretend struct {
	mu       sync.Mutex
	root     string
	disk     Disk
	mounts   map[string]string // real path -> UUID
	units    map[string]Unit
	packages map[string]string
	calls    []string
	formats  []string // UUIDs
	fail     map[string]error
	halfway  bool // a failing format leaves half a filesystem
}

const blankSize = 4 << 30

func newPretend(t *testing.T) (*Guest, *pretend) {
	t.Helper()
	p := &pretend{root: t.TempDir(), disk: Disk{Size: blankSize, Blank: true}, mounts: map[string]string{},
		units: map[string]Unit{}, packages: map[string]string{}, fail: map[string]error{}}
	for path, text := range map[string]string{
		"/home/agent/.ssh/authorized_keys": "ssh-ed25519 AAAA lima\n",
		"/etc/skel/.bashrc":                "# bash\n",
		"/etc/skel/.config/a":              "a\n",
		"/etc/fstab":                       "/dev/vda / ext4 defaults 0 1\n",
		"/etc/environment":                 "#LIMA-START\nno_proxy=localhost\n#LIMA-END\n",
	} {
		writeFile(t, filepath.Join(p.root, path), text)
	}
	return &Guest{Root: p.root, System: p, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}, p
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// did writes down a call and tells whether it shall fail.
func (p *pretend) did(call string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, call)
	return p.fail[call]
}

func (p *pretend) called(call string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.calls, call)
}

func (p *pretend) Run(_ context.Context, c Cmd) ([]byte, error) {
	return nil, p.did(c.Path + " " + strings.Join(c.Args, " "))
}

func (p *pretend) ReloadUnits(context.Context) error { return p.did("reload") }

func (p *pretend) EnableUnit(_ context.Context, unit string) error { return p.did("enable " + unit) }

func (p *pretend) StartUnit(_ context.Context, unit string) error {
	if err := p.did("start " + unit); err != nil {
		p.set(unit, Unit{Active: "failed", Result: "exit-code"})
		return err
	}
	p.set(unit, Unit{Active: "active", Sub: "running", Since: time.Unix(1_799_999_000, 0)})
	return nil
}

func (p *pretend) set(unit string, u Unit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.units[unit] = u
}

func (p *pretend) StopUnit(_ context.Context, unit string) error {
	if err := p.did("stop " + unit); err != nil {
		return err
	}
	p.set(unit, Unit{Active: "inactive"})
	return nil
}

func (p *pretend) RestartUnit(ctx context.Context, unit string) error { return p.StartUnit(ctx, unit) }

func (p *pretend) Units(_ context.Context, units ...string) (map[string]Unit, error) {
	if err := p.did("units"); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]Unit{}
	for _, u := range units {
		all[u] = Unit{Active: "inactive"}
		if known, ok := p.units[u]; ok {
			all[u] = known
		}
	}
	return all, nil
}

func (p *pretend) LoadImage(context.Context, string, string, string) error { return p.did("load") }
func (p *pretend) HasImage(context.Context, string) (bool, error)          { return true, nil }
func (p *pretend) RemoveImage(context.Context, string) error               { return nil }

func (p *pretend) Disk(_ context.Context, device string) (Disk, error) {
	return p.disk, p.did("disk " + device)
}

func (p *pretend) Format(_ context.Context, device, uuid, label string) error {
	p.formats = append(p.formats, uuid)
	if err := p.did("format"); err != nil {
		if p.halfway {
			p.disk.Blank = false
		}
		return err
	}
	if len(label) > 16 {
		return fmt.Errorf("label %q is too long", label)
	}
	p.disk = Disk{Size: blankSize, Type: "ext4", UUID: uuid}
	return nil
}

func (p *pretend) MountedUUID(_ context.Context, path string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mounts[path], p.fail["mounted"]
}

// Mount does what fstab says: a bind mount shows the directory by a link, which is as good for a test.
func (p *pretend) Mount(_ context.Context, path string) error {
	at := strings.TrimPrefix(path, p.root)
	if err := p.did("mount " + at); err != nil {
		return err
	}
	table, err := os.ReadFile(filepath.Join(p.root, "etc/fstab"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[1] != at {
			continue
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if id, ok := strings.CutPrefix(f[0], "UUID="); ok {
			if id != p.disk.UUID {
				return errors.New("no such disk")
			}
			p.mounts[path] = id
			return nil
		}
		source := filepath.Join(p.root, f[0])
		if _, err := os.Stat(source); err != nil {
			return err
		}
		p.mounts[path] = p.disk.UUID
		if err := os.Rename(path, path+".below"); err != nil {
			return err
		}
		return os.Symlink(source, path)
	}
	return fmt.Errorf("%s is not in fstab", at)
}

func (p *pretend) Sync(context.Context) error { return p.did("sync") }

func (p *pretend) EnsureUser(_ context.Context, name string, id int, home string) error {
	return p.did(fmt.Sprintf("user %s %d %s", name, id, home))
}

func (p *pretend) Chown(path string, uid, gid int) error {
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	return p.did(fmt.Sprintf("chown %s %d:%d", strings.TrimPrefix(path, p.root), uid, gid))
}

func (p *pretend) InstallPackages(_ context.Context, archives []string) error {
	for _, a := range archives {
		text, err := os.ReadFile(a)
		if err != nil {
			return err
		}
		name, version, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		p.packages[name] = version
	}
	return p.did(fmt.Sprintf("install %d", len(archives)))
}

func (p *pretend) PackageVersion(_ context.Context, name string) (string, error) {
	return p.packages[name], nil
}

func (p *pretend) Get(context.Context, string, map[string]string) (int, []byte, error) {
	return 0, nil, errors.New("connection refused")
}

func (p *pretend) Post(context.Context, string, map[string]string, []byte) (int, []byte, error) {
	return 0, nil, errors.New("connection refused")
}

func codeOf(err error) string {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
