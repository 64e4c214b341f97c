package demo

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hermes-box/internal/rehearsal"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

func open(t *testing.T, dir string) *Demo {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a demo")
	var wait sync.WaitGroup
	for range 3 { // as when several terminals open it at once
		wait.Go(func() {
			if _, err := Open(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	d := open(t, dir)
	c, err := config.Load(d.Config)
	if err != nil || c.Name != Name {
		t.Fatalf("%+v, %v", c, err)
	}
	for i, release := range Releases {
		l, err := lock.Load(d.Lock(release))
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range l.Components {
			if c.Version != release {
				t.Errorf("%s of %s is %s", name, release, c.Version)
			}
		}
		if (read(t, d.Lock(release)) == read(t, filepath.Join(dir, lock.FileName))) != (i == 0) {
			t.Errorf("hermes-box.lock is the lock of %s: %v", release, i != 0)
		}
	}

	// An edited config stays. A lock that is a copy of a release's lock is updated when the fixtures change.
	edited := "schema: 1\nname: mine\n"
	if err := errors.Join(os.WriteFile(d.Config, []byte(edited), 0o644),
		os.WriteFile(filepath.Join(dir, lock.FileName), []byte("old demo-2\n"), 0o644),
		os.WriteFile(d.Lock("demo-2"), []byte("old demo-2\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "releases", "edition"), []byte("old"), 0o644)); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if got := read(t, filepath.Join(dir, lock.FileName)); got != read(t, d.Lock("demo-2")) || !strings.Contains(got, "demo-2") {
		t.Errorf("the lock is %.100s", got)
	}
	if read(t, d.Config) != edited {
		t.Error("an edited config was replaced")
	}
	if err := os.WriteFile(filepath.Join(dir, lock.FileName), []byte("# mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dir, "releases", "edition"))
	open(t, dir)
	if got := read(t, filepath.Join(dir, lock.FileName)); got != "# mine\n" {
		t.Errorf("an edited lock was replaced by %.100s", got)
	}
}

// The fixtures have the same digests in every directory.
func TestFixturesAreReproducible(t *testing.T) {
	digests := func(dir string) (all []string) {
		l, err := shelf{dir}.make("demo-1")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range lock.Order {
			for _, a := range l.Components[name].Artifacts {
				all = append(all, a.Digest)
			}
		}
		return all
	}
	a, b := digests(t.TempDir()), digests(t.TempDir())
	if strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("%v\n%v", a, b)
	}
}

func TestForeignDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "novel.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); fault.CodeOf(err) != fault.PreflightFailed || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("files were created: %v", entries)
	}
}

func TestInject(t *testing.T) {
	d := open(t, t.TempDir())
	lima := filepath.Join(d.Home, "lima")
	has := func(name string) bool { return rehearsal.Has(lima, rehearsal.Fault(name)) }
	if err := d.Inject("ssh-refused, clock-skew"); err != nil || !has("ssh-refused") || !has("clock-skew") || has("broken") {
		t.Errorf("%v", err)
	}
	err := d.Inject("broken,rain")
	if fault.CodeOf(err) != fault.InvalidInput || !strings.Contains(err.Error(), `"rain"`) || !strings.Contains(fault.HintOf(err), "low-disk") {
		t.Errorf("%v: %s", err, fault.HintOf(err))
	}
	if has("broken") {
		t.Error("a part of an invalid list was switched on")
	}
	if err := d.Inject("no-kvm"); err != nil || has("ssh-refused") || !d.Acceleration().Slow() {
		t.Errorf("%v", err)
	}
	if err := d.Inject(""); err != nil || has("no-kvm") {
		t.Errorf("%v", err)
	}
}

func TestReadmeNamesEveryFault(t *testing.T) {
	readme := read(t, "../../../README.md")
	for _, name := range Faults() {
		if !strings.Contains(readme, "`"+name+"`") {
			t.Errorf("README.md does not name the fault %s", name)
		}
	}
	if bytes.Count([]byte(readme), []byte(PaceVariable)) == 0 || !strings.Contains(readme, DirVariable) || !strings.Contains(readme, FaultsVariable) {
		t.Error("README.md does not name every variable of the demo")
	}
}
