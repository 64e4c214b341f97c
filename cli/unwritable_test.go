package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stop --force and destroy --force work even if the state directory is damaged or not writable.
func TestForceWorksWithADamagedStateDirectory(t *testing.T) {
	t.Parallel()
	asFile := func(name string) func(m *machine) error {
		return func(m *machine) error {
			path := filepath.Join(m.dir, "home", name)
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return os.WriteFile(path, nil, 0o600)
		}
	}
	lock := func(m *machine) string {
		path := filepath.Join(m.dir, "home", "locks", "main.lock")
		os.Remove(path)
		return path
	}
	for name, spoil := range map[string]func(m *machine) error{
		"the lock is a directory": func(m *machine) error { return os.Mkdir(lock(m), 0o700) },
		"the lock is a symlink":   func(m *machine) error { return os.Symlink("/dev/null", lock(m)) },
		"the lock is a fifo":      func(m *machine) error { return syscall.Mkfifo(lock(m), 0o600) },
		"locks is a file":         asFile("locks"),
		"logs is a file":          asFile("logs"),
		"nothing is writable": func(m *machine) error {
			for _, dir := range []string{"", "locks", "logs", "boxes"} {
				if err := os.Chmod(filepath.Join(m.dir, "home", dir), 0o500); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.makeStoppedBox()
			m.must("limactl", "start", "--tty=false", "main")
			for _, dir := range []string{"locks", "logs"} {
				if err := os.MkdirAll(filepath.Join(m.dir, "home", dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := spoil(m); err != nil {
				t.Fatal(err)
			}
			m.must("stop", "--force", "--quiet")
			if out := m.must("status", "--json"); !strings.Contains(out, `"state":"stopped"`) {
				t.Errorf("the VM is not stopped: %s", out)
			}
			m.must("destroy", "--force", "--quiet")
			if remaining := m.inventory(); len(remaining) != 0 {
				t.Errorf("remaining: %v", remaining)
			}
		})
	}
}

// stop --force and destroy --force work on a file system that has no free inodes.
func TestForceWorksWithoutInodes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	home := filepath.Join(m.dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", home, "tmpfs", 0, "nr_inodes=200,size=64m"); err != nil {
		t.Skip("mounting a file system needs root:", err)
	}
	t.Cleanup(func() { syscall.Unmount(home, syscall.MNT_DETACH) })
	m.makeStoppedBox()
	m.must("limactl", "start", "--tty=false", "main")
	if err := os.Mkdir(filepath.Join(home, "lima", "fill"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		f, err := os.Create(filepath.Join(home, "lima", "fill", string(rune('a'+i%26))+string(rune('a'+i/26))))
		if err != nil {
			break
		}
		f.Close()
	}
	if _, _, err := m.run("stop", "--quiet"); err == nil {
		t.Error("stop works: the file system still has free inodes")
	}
	m.must("stop", "--force", "--quiet")
	m.must("destroy", "--force", "--quiet")
	if remaining := m.inventory(); len(remaining) != 0 {
		t.Errorf("remaining: %v", remaining)
	}
}
