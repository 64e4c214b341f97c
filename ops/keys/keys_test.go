package keys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func ref(box string, identity *age.X25519Identity) Ref {
	return Ref{box, identity.Recipient().String()}
}

// testStore checks what every store promises.
func testStore(t *testing.T, s Store) {
	t.Helper()
	ctx, mine := t.Context(), newIdentity(t)
	if _, err := Load(ctx, s, ref("main", mine)); !errors.Is(err, ErrNotFound) {
		t.Fatalf("load from an empty store: %v", err)
	}
	if err := s.Delete(ctx, ref("main", mine)); err != nil {
		t.Errorf("delete from an empty store: %v", err)
	}
	for range 2 { // the second changes nothing
		if err := Put(ctx, s, "main", mine); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Load(ctx, s, ref("main", mine)); err != nil || got.String() != mine.String() {
		t.Errorf("the identity does not come back: %v", err)
	}
	if where := s.Where(ref("main", mine)); strings.Contains(where, "AGE-SECRET") || !strings.Contains(where, "main") {
		t.Errorf("where: %q", where)
	}
	if err := s.Delete(ctx, ref("main", newIdentity(t))); err != nil {
		t.Errorf("delete another identity: %v", err)
	}
	if _, err := Load(ctx, s, ref("main", mine)); err != nil {
		t.Errorf("deleting another identity of the same name has deleted this one: %v", err)
	}
	if err := s.Delete(ctx, ref("main", mine)); err != nil {
		t.Error(err)
	}
	if _, err := Load(ctx, s, ref("main", mine)); !errors.Is(err, ErrNotFound) {
		t.Errorf("after delete: %v", err)
	}
}

func TestFileStore(t *testing.T) {
	home := store.Home(t.TempDir())
	testStore(t, fileStore{home})
	if entries, _ := os.ReadDir(dir(home)); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
}

// The file is private whatever the umask is, holds what age reads, and is never replaced or deleted for another
// identity.
func TestFileStoreKeepsItsFile(t *testing.T) {
	s := fileStore{store.Home(t.TempDir())}
	mine, other := newIdentity(t), newIdentity(t)
	if err := Put(t.Context(), s, "main", mine); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(s.path("main")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if info, err := os.Stat(dir(s.home)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	f, err := os.Open(s.path("main"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if all, err := age.ParseIdentities(f); err != nil || len(all) != 1 {
		t.Errorf("age reads %v %v", len(all), err)
	}
	before, _ := os.ReadFile(s.path("main"))
	err = Put(t.Context(), s, "main", other)
	if fault.CodeOf(err) != fault.AlreadyExists || !strings.Contains(fault.HintOf(err), "mv ") {
		t.Errorf("another identity: %v", err)
	}
	if err := s.Delete(t.Context(), ref("main", other)); err != nil {
		t.Error(err)
	}
	if after, _ := os.ReadFile(s.path("main")); string(after) != string(before) {
		t.Error("the file has changed")
	}
	if _, err := Load(t.Context(), s, ref("main", other)); fault.CodeOf(err) != fault.IntegrityFailed || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("load of another: %v", err)
	}
	if entries, _ := os.ReadDir(dir(s.home)); len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}

// A killed Set may leave a temporary file. The next Set or Delete removes it.
func TestFileStoreAfterAKill(t *testing.T) {
	for _, next := range []string{"set", "delete"} {
		s, mine := fileStore{store.Home(t.TempDir())}, newIdentity(t)
		if err := os.MkdirAll(dir(s.home), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.beside("main"), []byte("AGE-SECRET-KEY-1Q"), 0o600); err != nil {
			t.Fatal(err)
		}
		want := []string{"main.age-identity"}
		if next == "set" {
			if err := Put(t.Context(), s, "main", mine); err != nil {
				t.Fatal(err)
			}
		} else if want = nil; s.Delete(t.Context(), ref("main", mine)) != nil {
			t.Error("delete fails")
		}
		var left []string
		entries, _ := os.ReadDir(dir(s.home))
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if !slices.Equal(left, want) {
			t.Errorf("after %s: %v", next, left)
		}
	}
}

// WriteIdentity replaces nothing, and leaves nothing if it fails.
func TestWriteIdentityReplacesNothing(t *testing.T) {
	mine := newIdentity(t)
	path := filepath.Join(t.TempDir(), "out")
	for _, make := range []func() error{
		func() error { return os.WriteFile(path, []byte("mine"), 0o600) },
		func() error { return os.Symlink("nowhere", path) },
		func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if err := WriteIdentity(path, ref("main", mine), mine.String()); !errors.Is(err, os.ErrExist) {
			t.Errorf("%v", err)
		}
		if err := os.Remove(path); err != nil {
			t.Error("the existing file was removed:", err)
		}
	}
}

// A call to a store that does not answer ends after its timeout, and at once when the command is interrupted.
func TestStoreCallsHaveALimit(t *testing.T) {
	hang := func() (string, error) { select {} }
	if _, err := bounded(t.Context(), time.Millisecond, hang); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bounded(ctx, time.Hour, hang); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A saved record can be read. A damaged record, or one of another box or of a later schema, is an error other than
// ErrNoKey.
func TestRecord(t *testing.T) {
	home, mine := store.Home(t.TempDir()), newIdentity(t)
	if _, err := Read(home, "main"); !errors.Is(err, ErrNoKey) {
		t.Errorf("%v", err)
	}
	r := &Record{Box: "main", Store: File, Recipient: mine.Recipient().String(), Created: time.Now().UTC()}
	if err := r.Save(home); err != nil {
		t.Fatal(err)
	}
	got, err := Read(home, "main")
	if err != nil || got.Ref() != ref("main", mine) || got.Store != File || !got.Created.Equal(r.Created) {
		t.Errorf("%+v %v", got, err)
	}
	good, err := os.ReadFile(recordPath(home, "main"))
	if err != nil || strings.Contains(string(good), mine.String()) {
		t.Error("the record holds the secret", err)
	}
	for _, bad := range []string{"", "{}", "null", strings.Replace(string(good), `"schema": 1`, `"schema": 2`, 1),
		strings.Replace(string(good), `"main"`, `"other"`, 1), strings.Replace(string(good), "age1", "age2", 1), `{"x":1}`} {
		if err := os.WriteFile(recordPath(home, "main"), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(home, "main"); fault.CodeOf(err) != fault.IntegrityFailed || fault.HintOf(err) == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	beside := filepath.Join(dir(home), ".main.json-123")
	if err := os.WriteFile(beside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Remove(home, "main"); err != nil {
			t.Error(err)
		}
	}
	if entries, _ := os.ReadDir(dir(home)); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"schema":1,"box":"main","store":"file","recipient":"age1x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := parse(data, "main"); err == nil && (r.Box != "main" || r.Schema != schema || !strings.HasPrefix(strings.ToLower(r.Recipient), "age1")) {
			t.Errorf("%+v", r)
		}
	})
}

func TestParseRecipient(t *testing.T) {
	mine := newIdentity(t)
	if r, err := ParseRecipient(mine.Recipient().String()); err != nil || r.String() != mine.Recipient().String() {
		t.Error(err)
	}
	for _, bad := range []string{"", "age1", "mine", mine.String(), strings.ToLower(mine.String()), " " + mine.String(),
		mine.Recipient().String()[:50], "ssh-ed25519 AAAA", "age1pq1qqqq", "age1yubikey1qqq"} {
		_, err := ParseRecipient(bad)
		if fault.CodeOf(err) != fault.InvalidInput || fault.HintOf(err) == "" {
			t.Errorf("%q: %v", bad, err)
		}
		if strings.Contains(strings.ToUpper(err.Error()+fault.HintOf(err)), "AGE-SECRET-KEY-1") {
			t.Errorf("the error repeats a secret: %v", err)
		}
	}
}

// A recipient is proven only by an identity that decrypts what is encrypted to it.
func TestProveRecipient(t *testing.T) {
	mine, other := newIdentity(t), newIdentity(t)
	if err := Prove(mine.Recipient(), []age.Identity{other, mine}); err != nil {
		t.Error(err)
	}
	if err := Prove(mine.Recipient(), []age.Identity{other}); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("another identity proves it: %v", err)
	}
}

// Errors about identity files never contain any part of them.
func TestReadIdentities(t *testing.T) {
	mine, path := newIdentity(t), filepath.Join(t.TempDir(), "key")
	for text, want := range map[string]string{
		"# mine\n" + mine.String() + "\n": "",
		mine.String()[:40]:                "is not an age identity file",
		mine.String() + "x":               "is not an age identity file",
		"":                                "is not an age identity file: it is empty", "\r\n \n": "is not an age identity file: it is empty",
		"# mine\r\n" + mine.String() + "\r\n":               "",
		"age-encryption.org/v1\n-> scrypt x\n":              "is not an age identity file: it is encrypted",
		"-----BEGIN AGE ENCRYPTED FILE-----\n":              "is not an age identity file: it is encrypted",
		"# public key: " + mine.Recipient().String() + "\n": "has only a public key", mine.Recipient().String(): "has only a public key",
		"# nothing else\n": "is not an age identity file", "\x00\xff": "is not an age identity file",
		strings.Repeat(mine.String()+"\n", 2000) + "more": "larger",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := ReadIdentities(path)
		if want == "" {
			if err != nil || len(all) != 1 {
				t.Errorf("%v", err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || fault.HintOf(err) == "" || strings.Contains(err.Error(), "SECRET-KEY-1") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := ReadIdentities(filepath.Join(t.TempDir(), "none")); fault.CodeOf(err) != fault.NotFound {
		t.Error(err)
	}
}

func TestCheckPassphrase(t *testing.T) {
	for passphrase, ok := range map[string]bool{
		"correct horse": true, "zehn Zeichen äöü": true, "tiny": false, "123456789": false, "aaaaaaaaaaaaaaa": false,
		"with\nnewline in it": false, "\xff\xfe is no text at all": false,
	} {
		err := CheckPassphrase(passphrase)
		if (err == nil) != ok || err != nil && (fault.HintOf(err) == "" || strings.Contains(err.Error(), passphrase)) {
			t.Errorf("%q: %v", passphrase, err)
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{"": true, "laptop of Ada": true, "age1x": false, "a\x1b[31mb": false, " a": false, strings.Repeat("x", 65): false} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
