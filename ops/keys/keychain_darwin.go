//go:build darwin && cgo

package keys

import (
	"context"
	"errors"
	"fmt"
	"time"

	keychain "github.com/keybase/go-keychain"

	"hermes-box/ops/fault"
)

// noKeyring says why this build of the program cannot use a keyring. It is empty if the build can use one.
const noKeyring = ""

func systemStore() system { return macKeychain{} }

// macKeychain keeps identities in the login keychain of macOS, as generic passwords that do not leave this Mac.
type macKeychain struct{}

// keychainBound is how long macOS may ask the user whether hermes-box may use the item.
const keychainBound = time.Minute

// keychainService is the service of all items; their account names the box and the recipient.
const keychainService = "hermes-box"

func (macKeychain) Name() string { return Keychain }

func (macKeychain) Where(ref Ref) string {
	return fmt.Sprintf("the login keychain of this Mac, as service %q, account %q", keychainService, account(ref))
}

func account(ref Ref) string { return ref.Box + " " + ref.Recipient }

func (macKeychain) usable(context.Context) (string, error) { return "", nil }

func (macKeychain) Get(ctx context.Context, ref Ref) (string, error) {
	return keychainCall(ctx, func() (string, error) {
		data, err := keychain.GetGenericPassword(keychainService, account(ref), "", "")
		if err == nil && data == nil {
			err = ErrNotFound
		}
		return string(data), err
	})
}

func (k macKeychain) Set(ctx context.Context, ref Ref, identity string) error {
	item := keychain.NewGenericPassword(keychainService, account(ref), "hermes-box: key of box "+ref.Box, []byte(identity), "")
	item.SetSynchronizable(keychain.SynchronizableNo)
	item.SetAccessible(keychain.AccessibleWhenUnlockedThisDeviceOnly)
	_, err := keychainCall(ctx, func() (struct{}, error) { return struct{}{}, keychain.AddItem(item) })
	if errors.Is(err, keychain.ErrorDuplicateItem) {
		if have, getErr := k.Get(ctx, ref); getErr == nil && have == identity {
			return nil
		}
	}
	return err
}

func (macKeychain) Delete(ctx context.Context, ref Ref) error {
	_, err := keychainCall(ctx, func() (struct{}, error) {
		err := keychain.DeleteGenericPasswordItem(keychainService, account(ref))
		if errors.Is(err, keychain.ErrorItemNotFound) {
			err = nil
		}
		return struct{}{}, err
	})
	return err
}

// keychainCall calls do, which may wait for the user's answer to a question of macOS.
func keychainCall[T any](ctx context.Context, do func() (T, error)) (T, error) {
	value, err := bounded(ctx, keychainBound, do)
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, context.Canceled) {
		return value, err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("it does not answer")
	}
	return value, fault.New(fault.PreflightFailed, "the login keychain: %w", err).
		Hint("unlock it (security unlock-keychain), answer the question of macOS with Allow, and run the command again")
}
