package ops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
	"hermes-box/ops/store"
)

// ownIdentity returns the identity of the box.
func ownIdentity(t *testing.T, b *Box) *age.X25519Identity {
	t.Helper()
	r, err := keys.Read(b.Home, b.Name())
	if err != nil {
		t.Fatal(err)
	}
	identity, err := b.identity(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

// The identity of the box is put back as long as its record or the backups are left. Any other identity is refused, and
// nothing changes.
func TestImportKey(t *testing.T) {
	lose := func(names ...string) func(*testing.T, *Box) {
		return func(t *testing.T, b *Box) {
			for _, name := range names {
				if err := os.RemoveAll(filepath.Join(b.Dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write := func(name, text string) func(*testing.T, *Box) {
		return func(t *testing.T, b *Box) {
			if err := os.WriteFile(filepath.Join(b.Dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	const identity, record = "keys/main.age-identity", "keys/main.json"
	damage := func(t *testing.T, b *Box) {
		write("backups/main/pool.key.age", "age-encryption.org/v1\n")(t, b)
		lose(identity, record)(t, b)
	}
	elsewhere := func(t *testing.T, b *Box) { // the record is that of a laptop whose keyring is not here
		lose(identity)(t, b)
		r, err := keys.Read(b.Home, "main")
		if err != nil {
			t.Fatal(err)
		}
		r.Store = keys.Keychain
		if err := r.Save(b.Home); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name   string
		lost   func(*testing.T, *Box)
		others bool // the file holds the identity of another box
		want   fault.Code
		text   string // of the error
		hint   string
	}{
		{"identity lost", lose(identity), false, "", "", ""},
		{"identity and backups lost", lose(identity, "backups"), false, "", "", ""},
		{"identity and record lost", lose(identity, record), false, "", "", ""},
		{"only the record lost", lose(record), false, "", "", ""},
		{"the keyring of another machine", elsewhere, false, "", "", ""},
		{"nothing lost", lose(), false, "", "", ""},
		{"nothing lost, wrong identity", lose(), true, fault.AlreadyExists, "has its identity already", "hermes-box key status"},
		{"identity lost, wrong identity", lose(identity), true, fault.InvalidInput, "does not hold the identity of box", "was exported for this box"},
		{"identity and record lost, wrong identity", lose(identity, record), true, fault.InvalidInput, "does not open the backups", "was exported for this box"},
		{"only the record lost, wrong identity", lose(record), true, fault.InvalidInput, "does not open the backups", "was exported for this box"},
		{"everything lost", lose("keys", "backups"), false, fault.NotFound, "no record of a key and no backups", "hermes-box create"},
		{"another identity in the identity file", write(identity, newIdentity(t).String()), false, fault.AlreadyExists, "with the identity of another key", "mv "},
		{"an empty identity file", write(identity, ""), false, fault.AlreadyExists, "is there already", "mv "},
		{"the record damaged", write(record, "{"), false, fault.IntegrityFailed, "is damaged", "hermes-box key make"},
		{"the key of the backups damaged", damage, false, fault.IntegrityFailed, "pool.key.age", "copy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := withBackup(t)
			own := ownIdentity(t, b)
			given := []age.Identity{newIdentity(t), own}
			if test.others {
				given = given[:1]
			}
			test.lost(t, b)
			before := treeOf(t, filepath.Join(b.Dir, "keys"))
			done, err := b.ImportKey(t.Context(), given, "FILE", nil)
			if test.want != "" {
				if fault.CodeOf(err) != test.want || !strings.Contains(err.Error(), test.text) || !strings.Contains(fault.HintOf(err), test.hint) {
					t.Errorf("%v (%s), hint %q", err, fault.CodeOf(err), fault.HintOf(err))
				}
				if strings.Contains(strings.ToUpper(err.Error()+fault.HintOf(err)), "AGE-SECRET-KEY-1") {
					t.Error("the error repeats a secret")
				}
				if after := treeOf(t, filepath.Join(b.Dir, "keys")); after != before {
					t.Errorf("the keys have changed:\n%s\nbefore:\n%s", after, before)
				}
				return
			}
			if err != nil {
				t.Fatal(err, fault.HintOf(err))
			}
			if done.Already != (test.name == "nothing lost") || done.Recipient != own.Recipient().String() || done.Store != keys.File {
				t.Errorf("%+v", done)
			}
			if got := ownIdentity(t, b); got.String() != own.String() {
				t.Error("the box has another identity")
			}
			if _, err := b.OpenPool(t.Context()); err != nil {
				t.Error(err)
			}
			if again, err := b.ImportKey(t.Context(), given, "FILE", nil); err != nil || !again.Already {
				t.Errorf("the second time: %+v %v", again, err)
			}
		})
	}
}

// treeOf returns the names and contents of the files in a directory.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	text := ""
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text += e.Name() + ": " + string(data) + "\n"
	}
	return text
}

// If the record is lost too, the identity of another recipient does not become the box's own, and the right one is
// still accepted afterwards.
func TestImportKeyRefusesTheIdentityOfAnotherRecipient(t *testing.T) {
	b := withBackup(t)
	own, stick := ownIdentity(t, b), newIdentity(t)
	if _, err := b.AddRecipient(t.Context(), stick.Recipient().String(), "stick", "", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(b.Dir, "keys")); err != nil {
		t.Fatal(err)
	}
	for _, record := range []bool{true, false} {
		const hint = "hermes-box key make --identity FILE"
		kept := b.Record
		if b.Record = nil; record {
			b.Record = &store.Record{}
		}
		pool, err := backup.Open(b.Pool(), stick)
		if err != nil {
			t.Fatal(err)
		}
		err = b.othersIdentity(pool, stick, "FILE")
		if fault.CodeOf(err) != fault.InvalidInput || !strings.Contains(err.Error(), "the identity of stick "+stick.Recipient().String()) ||
			!strings.Contains(err.Error(), own.Recipient().String()) || !strings.Contains(fault.HintOf(err), hint) {
			t.Errorf("%v; hint %q", err, fault.HintOf(err))
		}
		b.Record = kept
	}
	if _, err := b.ImportKey(t.Context(), []age.Identity{stick}, "FILE", nil); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("the identity of stick: %v", err)
	}
	if left := treeOf(t, filepath.Join(b.Dir, "keys")); left != "" {
		t.Errorf("the refused import has written %s", left)
	}
	if _, err := b.ImportKey(t.Context(), []age.Identity{stick, own}, "FILE", nil); err != nil {
		t.Fatal(err)
	}
	if got := ownIdentity(t, b); got.String() != own.String() {
		t.Error("the box has another identity")
	}
}

// An identity that opens the backups is accepted if their list names no recipient as the box's own.
func TestImportKeyOfAPoolWithoutAnOwnRecipient(t *testing.T) {
	b := withBackup(t)
	stick := newIdentity(t)
	pool, err := b.OpenPool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := pool.Rewrite(t.Context(), []backup.Recipient{{Recipient: stick.Recipient().String(), Name: "stick"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(b.Dir, "keys")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ImportKey(t.Context(), []age.Identity{stick}, "FILE", nil); err != nil {
		t.Error(err)
	}
}

// A damaged backup does not hide that the identity opens the others.
func TestImportKeyWithADamagedBackup(t *testing.T) {
	b := withBackup(t)
	own := ownIdentity(t, b)
	list, err := b.Backups()
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	newer := list[0].Time.Add(time.Hour).Format("20060102T150405Z") + "-"
	if err := os.WriteFile(filepath.Join(b.Pool(), newer+".age"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	envelope, err := os.ReadFile(filepath.Join(b.Pool(), list[0].ID+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.Pool(), newer+".json"), []byte(strings.ReplaceAll(string(envelope), list[0].ID, newer)), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err = b.Backups(); err != nil || len(list) != 2 || list[0].ID != newer {
		t.Fatalf("the damaged backup is not listed as the newest: %v %v", list, err)
	}
	if err := os.RemoveAll(filepath.Join(b.Dir, "keys")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ImportKey(t.Context(), []age.Identity{own}, "FILE", nil); err != nil {
		t.Error(err)
	}
}

// If only the record of the key is lost, key make finds the identity, and makes no other. Before that, the errors of
// other commands name key make and key import. Without the identity key make refuses, and its hint says what to do.
func TestMakeKeyFindsTheIdentityOfALostRecord(t *testing.T) {
	b := withBackup(t)
	own := ownIdentity(t, b)
	exported := filepath.Join(t.TempDir(), "exported")
	if _, err := b.ExportKey(t.Context(), exported, nil); err != nil {
		t.Fatal(err)
	}
	if err := keys.Remove(b.Home, "main"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.KeyStatus(t.Context(), true); fault.CodeOf(err) != fault.NotFound || !strings.Contains(err.Error(), "there is no key of box \"main\" on record, but there are backups in") ||
		!strings.Contains(fault.HintOf(err), "to look for it on this machine: hermes-box key make") || !strings.Contains(fault.HintOf(err), "hermes-box key import FILE") {
		t.Errorf("%v; hint %q", err, fault.HintOf(err))
	}
	if c := b.checkKey(t.Context()); c.Verdict != Fail || !strings.Contains(c.Repair, "hermes-box key make") {
		t.Errorf("doctor: %+v", c)
	}
	made, err := b.MakeKey(t.Context(), nil, "", nil)
	if err != nil || !made.Found || made.Recipient != own.Recipient().String() {
		t.Fatalf("%+v %v", made, err)
	}
	if r, err := keys.Read(b.Home, "main"); err != nil || r.Store != keys.File || r.Created.IsZero() {
		t.Errorf("%+v %v", r, err)
	}
	if err := os.RemoveAll(filepath.Join(b.Dir, "keys")); err != nil {
		t.Fatal(err)
	}
	if made, err := b.MakeKey(t.Context(), nil, "", nil); fault.CodeOf(err) != fault.PreflightFailed ||
		!strings.Contains(fault.HintOf(err), "hermes-box key import FILE") || !strings.Contains(fault.HintOf(err), "mv ") {
		t.Errorf("%+v %v; hint %q", made, err, fault.HintOf(err))
	}
	identities, err := keys.ReadIdentities(exported)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.ImportKey(t.Context(), identities, exported, nil); err != nil {
		t.Error(err)
	}
	if _, err := b.OpenPool(t.Context()); err != nil {
		t.Error(err)
	}
}
