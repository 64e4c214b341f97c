package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If the key file of the backups is missing or cut off, key status, doctor and backup say so, with the command that
// writes it again.
func TestLostPoolKey(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	file := filepath.Join(m.dir, "home/backups/main/pool.key.age")
	damages := map[string]func() error{
		"missing": func() error { return os.Remove(file) },
		"cut off": func() error { return os.Truncate(file, 50) },
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := damages["missing"](); err != nil {
		t.Fatal(err)
	}
	if stdout, _, _ := m.run("key", "status"); !strings.Contains(stdout, "pool.key.age back from a copy") {
		t.Errorf("key status without a passphrase: %s", stdout)
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	withPassphrase := func(args ...string) {
		t.Helper()
		c := m.cmd("", append(args, "--stdin")...)
		c.Stdin = strings.NewReader("a long passphrase\n")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	withPassphrase("key", "add-passphrase")
	for name, damage := range damages {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"key", "status"}, {"doctor"}, {"backup", "--quiet"}} {
			stdout, stderr, _ := m.run(args...)
			if !strings.Contains(stdout+stderr, "pool.key.age") || args[0] != "backup" && !strings.Contains(stdout, "hermes-box key make --passphrase") {
				t.Errorf("%s, %v: %s%s", name, args, stdout, stderr)
			}
		}
		withPassphrase("key", "make")
		m.must("backup", "verify", "latest", "--quiet")
		if stdout, _, _ := m.run("key", "status"); strings.Contains(stdout, "pool.key.age") {
			t.Errorf("%s: key status after key make: %s", name, stdout)
		}
	}
}
