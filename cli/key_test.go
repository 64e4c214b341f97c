package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"hermes-box/internal/ttytest"
	"hermes-box/ops/backup"
	"hermes-box/ops/keys"
)

// secretOf returns the identity of the box, from its file.
func (m *machine) secretOf() string {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.dir, "home", "keys", "main.age-identity"))
	if err != nil {
		m.t.Fatal(err)
	}
	secret := strings.TrimSpace(string(data[bytes.LastIndex(bytes.TrimSpace(data), []byte("\n"))+1:]))
	if !strings.HasPrefix(secret, "AGE-SECRET-KEY-1") {
		m.t.Fatal("the file holds no identity")
	}
	return secret
}

// In the state directory only the key's own file holds the identity. No identity and no passphrase is printed, logged
// or given to another program as an argument.
func TestNoSecretOfTheKeyAnywhere(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	argv := filepath.Join(m.dir, "argv")
	for _, name := range []string{"limactl", "ssh"} {
		m.script(name, `echo "$*" >>`+argv+`; env >>`+argv+`; exec $REAL "$@"`)
	}
	const passphrase = "sw0rdfish and three more"
	mine, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	m.write("mine.age", []byte(mine.String()+"\n"))
	var printed bytes.Buffer
	run := func(stdin string, args ...string) {
		t.Helper()
		c := m.cmd("", args...)
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &printed, &printed
		if err := c.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, &printed)
		}
	}
	run("", "create", "--events", "--mirror", m.mirror)
	run("", "key", "export", "exported", "--events")
	run("", "key", "add-recipient", mine.Recipient().String(), "--identity", "mine.age", "--events")
	run(passphrase+"\n", "key", "add-passphrase", "--stdin", "--events")
	run("", "key", "status", "--json")
	run("", "doctor")
	own := filepath.Join(m.dir, "home", "keys", "main.age-identity")
	for _, from := range []string{"exported", "-"} {
		exported, err := os.ReadFile(filepath.Join(m.dir, "exported"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(own); err != nil {
			t.Fatal(err)
		}
		run(string(exported), "key", "import", from, "--events")
	}
	secret := m.secretOf()
	exported, err := os.ReadFile(filepath.Join(m.dir, "exported"))
	if err != nil || !bytes.Contains(exported, []byte(secret)) {
		t.Fatal("the identity was not exported:", err)
	}
	files := 0
	look := func(where string, data []byte) {
		for _, s := range []string{secret, mine.String(), passphrase} {
			if where != own && bytes.Contains(bytes.ToUpper(data), []byte(strings.ToUpper(s))) {
				t.Errorf("%s holds a secret", where)
			}
		}
	}
	look("what was printed", printed.Bytes())
	programs, err := os.ReadFile(argv)
	if err != nil || !bytes.Contains(programs, []byte("create --tty=false")) {
		t.Fatal("no arguments were seen:", err)
	}
	look("an argument or the environment of a program", programs)
	err = filepath.WalkDir(filepath.Join(m.dir, "home"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 64<<20 { // a disk image, which is empty
			return err
		}
		data, _ := os.ReadFile(path)
		files++
		look(path, data)
		// Artifacts are public, so their modes do not matter.
		if strings.Contains(path, "/keys/") || strings.Contains(path, "/backups/") && !strings.Contains(path, "/artifacts/") {
			if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: mode %v", path, info.Mode())
			}
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Errorf("only %d files were looked at: %v", files, err)
	}
}

// addRecipient adds a new recipient to the backups, and returns its identity.
func (m *machine) addRecipient() *age.X25519Identity {
	m.t.Helper()
	mine, err := age.GenerateX25519Identity()
	if err != nil {
		m.t.Fatal(err)
	}
	m.must("key", "add-recipient", mine.Recipient().String())
	return mine
}

// After the machine is lost, the exported identity, a recipient's identity and the passphrase each open a copy of the
// pool.
func TestOpeningTheBackupsOfALostMachine(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeKeyed()
	mine := m.addRecipient()
	m.must("key", "export", "exported")
	c := m.cmd("", "key", "add-passphrase", "--stdin")
	c.Stdin = strings.NewReader("four words to remember")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	pool := filepath.Join(m.dir, "lost-and-found")
	if err := os.Rename(filepath.Join(m.dir, "home", "backups", "main"), pool); err != nil {
		t.Fatal(err)
	}
	exported, err := keys.ReadIdentities(filepath.Join(m.dir, "exported"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Open(pool, exported...); err != nil {
		t.Error("the exported identity:", err)
	}
	if _, err := backup.Open(pool, mine); err != nil {
		t.Error("the recipient's identity:", err)
	}
	if _, err := backup.OpenWithPassphrase(pool, "four words to remember"); err != nil {
		t.Error("the passphrase:", err)
	}
	if stranger, err := age.GenerateX25519Identity(); err != nil {
		t.Error(err)
	} else if _, err := backup.Open(pool, stranger); err == nil {
		t.Error("an identity that is no recipient opens it")
	}
}

// makeKeyed makes a stopped box with a key, without running create.
func (m *machine) makeKeyed() {
	m.t.Helper()
	m.makeStoppedBox()
	m.must("key", "make", "--quiet")
}

// If a key command is killed after any of its steps, the key of the box still works. If the command adds or removes a
// recipient, it can be run again.
func TestKilledKeyChangeIsFinished(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeKeyed()
	for _, verb := range [][]string{{"key", "add-recipient"}, {"key", "remove-recipient"}} {
		for _, step := range []string{"open", "recipients"} {
			mine, err := age.GenerateX25519Identity()
			if err != nil {
				t.Fatal(err)
			}
			who := mine.Recipient().String()
			if verb[1] == "remove-recipient" {
				m.must("key", "add-recipient", who)
			}
			m.killAfter(step, append(verb, who)...)
			m.must("key", "status")
			_, stderr, err := m.run(append(verb, who)...)
			if err != nil && !strings.Contains(stderr, "there is no recipient") { // it was removed before the kill
				t.Errorf("%s after a kill at %s: %v %s", verb[1], step, err, stderr)
			}
			list, err := backup.ReadRecipients(filepath.Join(m.dir, "home", "backups", "main"))
			has := slices.ContainsFunc(list, func(r backup.Recipient) bool { return r.Recipient == who })
			if err != nil || has != (verb[1] == "add-recipient") || len(list) == 0 || list[0].Name != "this box" {
				t.Errorf("%s after a kill at %s: %v %v", verb[1], step, list, err)
			}
		}
	}
	for _, verb := range [][]string{{"key", "export", "out"}, {"key", "make"}} {
		if verb[1] == "make" {
			for _, name := range []string{"keys", "backups/main"} {
				if err := os.RemoveAll(filepath.Join(m.dir, "home", name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		m.killAfter(map[string]string{"export": "export", "make": "key"}[verb[1]], verb...)
		m.must("key", "status")
	}
}

// If key make with the identity of another recipient is killed after any of its steps, the same command finishes it, and
// that identity still opens the backups.
func TestKilledKeyMakeIsFinished(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeKeyed()
	mine := m.addRecipient()
	m.write("mine.age", []byte(mine.String()+"\n"))
	pool := filepath.Join(m.dir, "home", "backups", "main")
	for _, step := range []string{"open", "key", "recipients"} {
		if err := os.Remove(filepath.Join(m.dir, "home", "keys", "main.age-identity")); err != nil {
			t.Fatal(err)
		}
		m.killAfter(step, "key", "make", "--identity", "mine.age")
		m.must("key", "make", "--identity", "mine.age")
		own, err := age.ParseX25519Identity(m.secretOf())
		if err != nil {
			t.Fatal(err)
		}
		for _, identity := range []age.Identity{own, mine} {
			if _, err := backup.Open(pool, identity); err != nil {
				t.Errorf("after a kill at %s: %v", step, err)
			}
		}
	}
}

// If key import is killed after any of its steps, the same command succeeds when it is run again, whether only
// the identity was lost or its record too.
func TestKilledKeyImportIsFinished(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeKeyed()
	m.must("key", "add-recipient", newRecipient(t)) // makes the pool
	m.must("key", "export", "out")
	secret := m.secretOf()
	for _, lost := range [][]string{{"main.age-identity"}, {"main.age-identity", "main.json"}} {
		for _, step := range []string{"check", "import"} {
			for _, name := range lost {
				if err := os.Remove(filepath.Join(m.dir, "home", "keys", name)); err != nil {
					t.Fatal(err)
				}
			}
			c := m.cmd(step, "key", "import", "out", "--quiet")
			if out, err := c.CombinedOutput(); err == nil || c.ProcessState.ExitCode() != -1 {
				t.Fatalf("key import was not killed after %s: %v %s", step, err, out)
			}
			m.must("key", "import", "out")
			m.must("key", "status")
			if m.secretOf() != secret {
				t.Fatal("the box has another identity")
			}
			m.must("key", "add-recipient", newRecipient(t))
		}
	}
}

func newRecipient(t *testing.T) string {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return identity.Recipient().String()
}

// key import reads no identity from a terminal, which would show it.
func TestKeyImportOnATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeKeyed()
	tm := ttytest.Start(t, m.cmd("", "key", "import", "-", "--quiet"), 120, 24)
	tm.Shows("an identity is not read from a terminal")
	wantExit(t, tm, exitUsage)
}

// On a terminal the passphrase is asked for twice and is not shown.
func TestPassphraseOnATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeKeyed()
	for _, test := range []struct{ name, first, second, want string }{
		{"differ", "four words to remember", "four words to forget", "the two passphrases differ"},
		{"weak", "password", "", "too short"},
		{"good", "four words to remember", "four words to remember", "the passphrase opens the backups of box main"},
	} {
		tm := ttytest.Start(t, m.cmd("", "key", "add-passphrase", "--quiet"), 120, 24)
		tm.Hears("Passphrase: ")
		tm.Type(test.first + enter)
		status := exitUsage
		if test.second != "" {
			tm.Hears("The same again: ")
			tm.Type(test.second + enter)
		}
		if test.name == "good" {
			status = exitOK
		}
		tm.Shows(test.want)
		wantExit(t, tm, status)
		if strings.Contains(tm.Output(), test.first) {
			t.Errorf("%s: the passphrase is shown: %q", test.name, tm.Output())
		}
	}
	tm := ttytest.Start(t, m.cmd("", "key", "add-passphrase", "--quiet"), 120, 24)
	tm.Hears("Passphrase: ")
	tm.Type(ctrlC)
	wantExit(t, tm, exitInterrupted)
}
