package backup

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"filippo.io/age"

	"hermes-box/internal/race"
	"hermes-box/ops/fault"
)

func newIdentity(t testing.TB) (*age.X25519Identity, Recipient) {
	t.Helper()
	i, err := age.GenerateX25519Identity()
	must(t, err)
	return i, Recipient{Recipient: i.Recipient().String(), Name: "another"}
}

// Each recipient opens the pool; one that was left out by Rewrite does not, and the error names those who do.
func TestRecipients(t *testing.T) {
	p, first := newPool(t)
	second, added := newIdentity(t)
	if _, err := Open(p.disk.dir, second); err == nil || !strings.Contains(err.Error(), first.Recipient().String()) {
		t.Errorf("a stranger gets %v", err)
	}
	must(t, p.Rewrite(t.Context(), append(p.Recipients(), added)))
	for _, i := range []age.Identity{first, second} {
		again, err := Open(p.disk.dir, i)
		must(t, err)
		if again.secrets.identity.String() != p.secrets.identity.String() || len(again.Recipients()) != 2 || again.Repaired != nil {
			t.Errorf("opened with %v, %v", again.Recipients(), again.Repaired)
		}
	}
	must(t, p.Rewrite(t.Context(), []Recipient{added}))
	if _, err := Open(p.disk.dir, first); err == nil {
		t.Error("a recipient that was left out opens the pool")
	}
	if list, err := ReadRecipients(p.disk.dir); err != nil || len(list) != 1 || list[0].Name != "another" {
		t.Errorf("recipients %v, %v", list, err)
	}
	for name, list := range map[string][]Recipient{"none": nil, "twice": {added, added}, "no recipient": {{Recipient: "age1x"}}, "an identity": {{Recipient: second.String()}}} {
		if err := p.Rewrite(t.Context(), list); err == nil || strings.Contains(err.Error(), "SECRET") && name != "an identity" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(p.disk.dir, second); err != nil {
		t.Errorf("after refused lists: %v", err)
	}
	if _, err := Create(t.Context(), p.disk.dir, []Recipient{added}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a pool: %v", err)
	}
}

// The passphrase opens the pool, even after the recipients have changed.
func TestPassphrase(t *testing.T) {
	p, first := newPool(t)
	must(t, p.AddPassphrase(t.Context(), "correct horse", 10))
	_, added := newIdentity(t)
	must(t, p.Rewrite(t.Context(), append(p.Recipients(), added)))
	again, err := OpenWithPassphrase(p.disk.dir, "correct horse")
	must(t, err)
	if again.secrets.identity.String() != p.secrets.identity.String() || len(again.Recipients()) != 2 {
		t.Errorf("opened with %v", again.Recipients())
	}
	if _, err := OpenWithPassphrase(p.disk.dir, "wrong"); err == nil {
		t.Error("a wrong passphrase opens the pool")
	}
	must(t, p.AddPassphrase(t.Context(), "another", 10))
	if _, err := OpenWithPassphrase(p.disk.dir, "correct horse"); err == nil {
		t.Error("the old passphrase opens the pool")
	}
	if _, err := Open(p.disk.dir, first); err != nil {
		t.Error(err)
	}
}

// Somebody who adds a recipient to the plaintext list does not get the key with the next Rewrite: Open restores the list
// from the key file, whichever byte of the list was changed.
func TestChangedRecipientsAreRepaired(t *testing.T) {
	t.Parallel()
	p, first := newPool(t)
	want, err := os.ReadFile(p.disk.path(recipientsFile))
	must(t, err)
	for i := range want {
		must(t, flip(p, recipientsFile, i))
		again, err := Open(p.disk.dir, first)
		must(t, err)
		if got, _ := os.ReadFile(p.disk.path(recipientsFile)); string(got) != string(want) || len(again.Repaired) != 1 {
			t.Fatalf("byte %d is not repaired: %v", i, again.Repaired)
		}
	}
	must(t, p.AddPassphrase(t.Context(), "x", 10))
	must(t, os.WriteFile(p.disk.path(recipientsFile), []byte(strings.Replace(string(want), `"box"`, `"bob"`, 1)), 0o600))
	again, err := OpenWithPassphrase(p.disk.dir, "x")
	if must(t, err); len(again.Recipients()) != 0 || len(again.Repaired) != 1 {
		t.Errorf("a changed list is used: %v", again.Recipients())
	}
}

// Every byte of the key files matters, and so does their length.
func TestDamagedKeyFiles(t *testing.T) {
	t.Parallel()
	p, first := newPool(t)
	must(t, p.AddPassphrase(t.Context(), "x", 10))
	open := map[string]func() error{
		keyFile:        func() error { _, err := Open(p.disk.dir, first); return err },
		passphraseFile: func() error { _, err := OpenWithPassphrase(p.disk.dir, "x"); return err },
	}
	for name, open := range open {
		whole, err := os.ReadFile(p.disk.path(name))
		must(t, err)
		damage(t, whole, func(what string, data []byte) {
			must(t, os.WriteFile(p.disk.path(name), data, 0o600))
			if err := open(); err == nil {
				t.Errorf("%s, %s: the pool opens", name, what)
			} else if strings.Contains(err.Error(), p.secrets.identity.String()) {
				t.Errorf("%s, %s: the error has the secret", name, what)
			}
		})
		middle := len(whole) / 5 // in the key that is encrypted to the recipient
		must(t, flip(p, name, middle))
		if err := open(); fault.CodeOf(err) != fault.IntegrityFailed || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s, byte %d changed: %v", name, middle, err)
		}
		must(t, os.WriteFile(p.disk.path(name), whole, 0o600))
		must(t, open())
	}
}

// damage calls try with damaged copies of a file: with one byte changed, cut off, or with more bytes. It tries every
// byte and every length, or some of them under the race detector.
func damage(t *testing.T, whole []byte, try func(what string, data []byte)) {
	t.Helper()
	for i := 0; i < len(whole); i += race.Every(17) {
		data := append([]byte(nil), whole...)
		data[i] ^= 0x41
		try("byte "+itoa(i)+" changed", data)
		try("cut to "+itoa(i)+" bytes", whole[:i])
	}
	for _, more := range []string{"\n", "\x00", string(whole)} {
		try("with more", append(append([]byte(nil), whole...), more...))
	}
}
