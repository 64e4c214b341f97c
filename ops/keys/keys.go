// Package keys keeps the age identity of each box, which opens the box's backups.
//
// The identity is a secret. It is in exactly one store: the keychain of macOS, the Secret Service of a Linux desktop,
// or a file of mode 0600. The record of the key, which holds no secret, names the store, so that an identity is never
// looked for elsewhere.
package keys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"filippo.io/age"

	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// Ref names one identity: the box and the recipient that belongs to the identity. A keyring is shared by all state
// directories of a user, which may have boxes of the same name; the recipient tells their identities apart.
type Ref struct{ Box, Recipient string }

// Store keeps identities. Its methods return in bounded time, even if the keyring does not answer.
type Store interface {
	// Get returns an identity. If the store has none, the error is ErrNotFound. A store that is locked or cannot be
	// reached is another error, with a hint.
	Get(context.Context, Ref) (string, error)
	// Set stores an identity. It replaces nothing but the same identity.
	Set(ctx context.Context, ref Ref, identity string) error
	// Delete removes an identity. It is no error if the store has none.
	Delete(context.Context, Ref) error
	// Name is the name of the store in records and flags.
	Name() string
	// Where says for people where an identity is kept.
	Where(Ref) string
}

// The names of the stores.
const (
	File          = "file"
	Keychain      = "keychain"       // of macOS
	SecretService = "secret-service" // of a Linux desktop
)

// importHint is the hint for an identity that is lost or wrong.
const importHint = "with an exported key: hermes-box key import FILE"

// ErrNotFound means that a store can be read and does not have the identity.
var ErrNotFound = errors.New("the identity is not there")

// Open returns the store of that name on this machine.
func Open(home store.Home, name string) (Store, error) {
	if name == File {
		return fileStore{home}, nil
	}
	if s := systemStore(); s != nil && s.Name() == name {
		return s, nil
	}
	code := fault.PreflightFailed
	if name != Keychain && name != SecretService {
		code = fault.InvalidInput
	}
	return nil, fault.New(code, "this hermes-box cannot use the key store %q", name).Hint("%s", wrongStore(name))
}

// wrongStore returns the advice for a store that this program lacks.
func wrongStore(name string) string {
	switch {
	case name == Keychain:
		return "use a hermes-box for macOS that was built with cgo"
	case name == SecretService:
		return "use hermes-box on the Linux machine that has the keyring"
	}
	return "the stores: " + File + ", " + Keychain + " (macOS), " + SecretService + " (Linux)"
}

// Choose returns the store for a new identity. An empty name means the keyring of this machine or, if it has none, the
// file; why then gives the reason. It is an error if the keyring is locked, or if the named store cannot be used.
func Choose(ctx context.Context, home store.Home, name string) (s Store, why string, err error) {
	if name != "" {
		s, err := Open(home, name)
		if keyring, ok := s.(system); ok && err == nil {
			if why, err = keyring.usable(ctx); err == nil && why != "" {
				err = fault.New(fault.PreflightFailed, "the key store %q cannot be used: %s", name, why).
					Hint("log in to the desktop session that has the keyring, or choose the key store \"file\", which works everywhere")
			}
		}
		return s, "", err
	}
	keyring, why := systemStore(), noKeyring
	if keyring != nil {
		if why, err = keyring.usable(ctx); err != nil {
			return nil, "", err
		}
		if why == "" {
			return keyring, "", nil
		}
	}
	return fileStore{home}, why, nil
}

// system is the keyring of the operating system.
type system interface {
	Store
	// usable returns why the keyring cannot be used on this machine, or "" if it can. It is an error if there is a
	// keyring that stays locked.
	usable(context.Context) (why string, err error)
}

// Put stores an identity, reads it back and compares it.
func Put(ctx context.Context, s Store, box string, identity *age.X25519Identity) error {
	ref := Ref{box, identity.Recipient().String()}
	if err := s.Set(ctx, ref, identity.String()); err != nil {
		return err
	}
	if _, err := Load(ctx, s, ref); err != nil {
		return fmt.Errorf("read the new identity back: %w", err)
	}
	return nil
}

// Load returns an identity of a store. The error is ErrNotFound if the store has none. An identity that does not belong
// to the recipient is an error. No error contains any part of the identity.
func Load(ctx context.Context, s Store, ref Ref) (*age.X25519Identity, error) {
	text, err := s.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	identity, err := age.ParseX25519Identity(text)
	if err != nil || identity.Recipient().String() != ref.Recipient {
		return nil, fault.New(fault.IntegrityFailed, "%s does not hold the identity of %s", s.Where(ref), ref.Recipient).
			Hint(importHint)
	}
	return identity, nil
}

// bounded calls the function do, which takes no context. It returns when do returns, after bound, or when the context
// ends.
func bounded[T any](ctx context.Context, bound time.Duration, do func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	type result struct {
		value T
		err   error
	}
	ended := make(chan result, 1)
	go func() {
		value, err := do()
		ended <- result{value, err}
	}()
	select {
	case r := <-ended:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

type silentKey struct{}

// Silent returns a context with which the Secret Service does not ask for the password of a locked keyring, but returns
// an error. The keychain of macOS may still ask.
func Silent(ctx context.Context) context.Context { return context.WithValue(ctx, silentKey{}, true) }

func silent(ctx context.Context) bool { return ctx.Value(silentKey{}) != nil }
