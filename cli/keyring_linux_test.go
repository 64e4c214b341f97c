package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes-box/internal/keyringtest"
	"hermes-box/internal/rehearsal"
)

// The key of a box can be in a real keyring, and in no file. A create that failed leaves no key in the keyring; if it
// was killed, destroy removes the key. While the keyring is locked, commands that need the key fail and name the
// keyring; destroy works, and says that the key stays.
func TestKeyInAKeyring(t *testing.T) {
	t.Parallel()
	env := keyringtest.Start(t)
	m := newMachine(t)
	run := func(crash string, args ...string) (out string, err error) {
		c := m.cmd(crash, args...)
		for name, value := range env {
			c.Env = append(c.Env, name+"="+value)
		}
		text, err := c.CombinedOutput()
		return string(text), err
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := run("", args...)
		if err != nil {
			t.Fatalf("%v: %v %s", args, err, out)
		}
		return out
	}
	items := func(want int, after string) {
		t.Helper()
		if got := keyringtest.Items(t, env); got != want {
			t.Errorf("after %s the keyring has %d keys, want %d", after, got, want)
		}
	}
	create := []string{"create", "--key-store", "secret-service", "--mirror", m.mirror}

	inject(t, m, rehearsal.CreateFails)
	if out, err := run("", create...); err == nil {
		t.Fatal(out)
	}
	items(0, "a failed create")
	heal(t, m, rehearsal.CreateFails)
	if _, err := run("key", create...); err == nil {
		t.Fatal("create was not killed")
	}
	items(1, "a kill of create after its key")
	must("destroy", "--force", "--quiet")
	items(0, "a destroy after that kill")
	if remaining := m.inventory(); len(remaining) != 0 {
		t.Errorf("remaining: %v", remaining)
	}

	if out := must(create...); !strings.Contains(out, "key:         the keyring of this desktop (Secret Service)") {
		t.Errorf("create: %s", out)
	}
	items(1, "create")
	if all := m.inventory(); !slices.Contains(all, "key main.json") || slices.Contains(all, "key main.age-identity") {
		t.Errorf("%v", all)
	}
	if out := must("key", "status"); !strings.Contains(out, "only this machine can open the backups") || strings.Contains(out, "plain file") {
		t.Errorf("key status: %s", out)
	}
	must("key", "export", "out")
	if out := must("doctor"); !strings.Contains(out, "pass    key of the backups") {
		t.Errorf("doctor: %s", out)
	}

	// First only the record of the key is lost, then only the identity in the keyring, then both.
	lose := func(name string) {
		t.Helper()
		if err := os.Remove(filepath.Join(m.dir, "home", "keys", name)); err != nil {
			t.Fatal(err)
		}
	}
	lose("main.json")
	if out := must("key", "make"); !strings.Contains(out, "is found, and its record is written again: the keyring") {
		t.Errorf("key make: %s", out)
	}
	keyringtest.Wipe(t, env)
	if out, err := run("", "key", "status"); err == nil || !strings.Contains(out, "key import FILE") {
		t.Errorf("key status after the keyring was wiped: %v %s", err, out)
	}
	if out := must("key", "import", "out", "--key-store", "secret-service"); !strings.Contains(out, "is in the keyring of this desktop") {
		t.Errorf("key import: %s", out)
	}
	must("key", "export", "again")
	lose("main.json")
	keyringtest.Wipe(t, env)
	if out, err := run("", "key", "make"); err == nil || !strings.Contains(out, "key import FILE") {
		t.Errorf("key make after everything was lost: %v %s", err, out)
	}
	must("key", "import", "again", "--key-store", "secret-service")
	items(1, "key import")
	must("backup", "list")

	keyringtest.Lock(t, env)
	if out, err := run("", "key", "import", "out", "--key-store", "secret-service"); err == nil || !strings.Contains(out, "it is locked") {
		t.Errorf("key import with a locked keyring: %v %s", err, out)
	}
	if out, err := run("", "key", "export", "other"); err == nil || !strings.Contains(out, "Secret Service): it is locked") || !strings.Contains(out, "hint: ") {
		t.Errorf("key export with a locked keyring: %v %s", err, out)
	}
	if out, err := run("", "doctor"); err == nil || !strings.Contains(out, "it is locked") {
		t.Errorf("doctor with a locked keyring: %v %s", err, out)
	}
	if out := must("destroy", "--force"); !strings.Contains(out, "its backups are kept in") || !strings.Contains(out, "and their key in the keyring") {
		t.Errorf("destroy with a locked keyring: %s", out)
	}
	if out := must("destroy", "--backups", "--confirm", "main"); !strings.Contains(out, "its key is still in the keyring") {
		t.Errorf("destroy with a locked keyring: %s", out)
	}
	if out, err := run("", create...); err == nil || !strings.Contains(out, "it is locked") {
		t.Errorf("create with a locked keyring: %v %s", err, out)
	}
}
