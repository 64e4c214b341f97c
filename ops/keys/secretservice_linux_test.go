package keys

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/keybase/go-keychain/secretservice"

	"hermes-box/internal/keyringtest"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// use sets environment variables, such as the address of a bus, for this test.
func use(t *testing.T, env map[string]string) {
	t.Helper()
	for name, value := range env {
		t.Setenv(name, value)
	}
}

func TestSecretService(t *testing.T) {
	use(t, keyringtest.Start(t))
	home := store.Home(t.TempDir())
	s, why, err := Choose(t.Context(), home, "")
	if err != nil || s.Name() != SecretService || why != "" {
		t.Fatalf("chosen: %v %q %v", s, why, err)
	}
	testStore(t, s)
	// Two state directories with boxes of the same name have their own identities.
	one, two := newIdentity(t), newIdentity(t)
	if err := errors.Join(Put(t.Context(), s, "main", one), Put(t.Context(), s, "main", two)); err != nil {
		t.Fatal(err)
	}
	if got, err := Load(t.Context(), s, ref("main", one)); err != nil || got.String() != one.String() {
		t.Error("the first identity:", err)
	}
	if got, err := Load(t.Context(), s, ref("main", two)); err != nil || got.String() != two.String() {
		t.Error("the second identity:", err)
	}
	if entries, _ := os.ReadDir(dir(home)); len(entries) != 0 {
		t.Errorf("files: %v", entries)
	}
}

// In about one of 256 sessions the two ends have, by chance, different keys. Even then the identity is stored and read
// back.
func TestBadSession(t *testing.T) {
	use(t, keyringtest.Start(t))
	open := openSession
	t.Cleanup(func() { openSession = open })
	opened := 0
	openSession = func(service *secretservice.SecretService) (*secretservice.Session, error) {
		session, err := open(service)
		if opened++; err == nil && opened%2 == 1 {
			session.AESKey = make([]byte, len(session.AESKey))
		}
		return session, err
	}
	s := secretService{}
	for range 20 {
		mine := newIdentity(t)
		opened = 0
		if err := s.Set(t.Context(), ref("main", mine), mine.String()); err != nil || opened < 2 {
			t.Fatalf("set: %v in %d sessions", err, opened)
		}
		opened = 0
		if got, err := s.Get(t.Context(), ref("main", mine)); err != nil || got != mine.String() || opened < 2 {
			t.Fatalf("get: %v in %d sessions", err, opened)
		}
	}
}

// A locked keyring is an error with a hint. It is never reported as a missing identity, and no other store is used. In
// this test nobody types the keyring's password.
func TestLockedKeyring(t *testing.T) {
	env := keyringtest.Start(t)
	use(t, env)
	s, mine := secretService{}, newIdentity(t)
	if err := Put(t.Context(), s, "main", mine); err != nil {
		t.Fatal(err)
	}
	keyringtest.Lock(t, env)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for name, do := range map[string]func(context.Context) error{
		"get":    func(ctx context.Context) error { _, err := Load(ctx, s, ref("main", mine)); return err },
		"set":    func(ctx context.Context) error { return Put(ctx, s, "main", newIdentity(t)) },
		"delete": func(ctx context.Context) error { return s.Delete(ctx, ref("main", mine)) },
		"choose": func(ctx context.Context) error { _, _, err := Choose(ctx, store.Home(t.TempDir()), ""); return err },
	} {
		for _, ctx := range []context.Context{Silent(ctx), ctx} {
			begun := time.Now()
			err := do(ctx)
			if err == nil || errors.Is(err, ErrNotFound) || fault.CodeOf(err) != fault.PreflightFailed || !strings.Contains(err.Error(), "locked") || fault.HintOf(err) == "" {
				t.Errorf("%s: %v, hint %q", name, err, fault.HintOf(err))
			}
			t.Logf("%s: after %v: %v", name, time.Since(begun).Round(time.Millisecond), err)
		}
	}
}

// Without a bus, or with a bus without a keyring, Choose chooses a file and returns the reason. If a record says that
// the identity is in the keyring, no file is searched for it.
func TestNoKeyring(t *testing.T) {
	use(t, keyringtest.Bus(t))
	mine := newIdentity(t)
	for _, address := range []string{os.Getenv("DBUS_SESSION_BUS_ADDRESS"), "autolaunch:", "unix:path=/nonexistent/bus"} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
		home := store.Home(t.TempDir())
		s, why, err := Choose(t.Context(), home, "")
		if err != nil || s.Name() != File || why == "" {
			t.Errorf("%s: %v %q %v", address, s, why, err)
		}
		t.Log(why)
		if _, _, err := Choose(t.Context(), home, SecretService); fault.CodeOf(err) != fault.PreflightFailed || fault.HintOf(err) == "" {
			t.Errorf("%s: a keyring that is not there was chosen: %v", address, err)
		}
		if err := Put(t.Context(), fileStore{home}, "main", mine); err != nil {
			t.Fatal(err)
		}
		recorded, err := Open(home, SecretService)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), recorded, ref("main", mine)); err == nil || errors.Is(err, ErrNotFound) || fault.HintOf(err) == "" {
			t.Errorf("%s: load from the keyring: %v", address, err)
		}
	}
}

func TestOpenRefusesOtherStores(t *testing.T) {
	for name, code := range map[string]fault.Code{Keychain: fault.PreflightFailed, "nowhere": fault.InvalidInput, "": fault.InvalidInput} {
		if s, err := Open(store.Home(t.TempDir()), name); s != nil || fault.CodeOf(err) != code || fault.HintOf(err) == "" {
			t.Errorf("%q: %v %v", name, s, err)
		}
	}
}
