package keys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"filippo.io/age"
	dbus "github.com/keybase/dbus"
	"github.com/keybase/go-keychain/secretservice"

	"hermes-box/ops/fault"
)

// noKeyring says why this build of the program cannot use a keyring. It is empty if the build can use one.
const noKeyring = ""

func systemStore() system { return secretService{} }

// secretService keeps identities in the default collection of the Secret Service, on the session bus of D-Bus.
type secretService struct{}

// Time limits of the Secret Service. A person needs time to type the password of a keyring.
const (
	serviceBound = 10 * time.Second // without a question to the user
	promptBound  = time.Minute
)

func (secretService) Name() string { return SecretService }

func (secretService) Where(ref Ref) string {
	return fmt.Sprintf("the keyring of this desktop (Secret Service), as %q", label(ref))
}

func label(ref Ref) string { return "hermes-box: key of box " + ref.Box }

// attributes returns the attributes by which an identity is found.
func attributes(ref Ref) secretservice.Attributes {
	return secretservice.Attributes{"application": "hermes-box", "box": ref.Box, "recipient": ref.Recipient}
}

func (s secretService) usable(ctx context.Context) (string, error) {
	if !sessionBus() {
		return "there is no session bus, and so no keyring", nil
	}
	locked, err := bounded(ctx, serviceBound, func() (bool, error) {
		service, err := secretservice.NewService()
		if err != nil {
			return false, err
		}
		return isLocked(service)
	})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "no Secret Service answers on the session bus: " + err.Error(), nil
	case !locked:
		return "", nil
	}
	_, err = withService(ctx, func(*secretservice.SecretService, *secretservice.Session) (struct{}, error) { return struct{}{}, nil })
	return "", err
}

func (s secretService) Get(ctx context.Context, ref Ref) (string, error) {
	return withService(ctx, func(service *secretservice.SecretService, session *secretservice.Session) (string, error) {
		items, err := service.SearchCollection(secretservice.DefaultCollection, attributes(ref))
		if err != nil {
			return "", err
		}
		if len(items) == 0 {
			return "", ErrNotFound
		}
		secret, err := service.GetSecret(items[0], *session)
		if err != nil {
			return "", err
		}
		if _, err := age.ParseX25519Identity(string(secret)); err != nil { // the library returns no error if it cannot decrypt
			return "", errBadSession
		}
		return string(secret), nil
	})
}

func (s secretService) Set(ctx context.Context, ref Ref, identity string) error {
	_, err := withService(ctx, func(service *secretservice.SecretService, session *secretservice.Session) (struct{}, error) {
		secret, err := session.NewSecret([]byte(identity))
		if err != nil {
			return struct{}{}, err
		}
		// The attributes name the recipient, so that only the same identity is replaced.
		item, err := service.CreateItem(secretservice.DefaultCollection, secretservice.NewSecretProperties(label(ref), attributes(ref)),
			secret, secretservice.ReplaceBehaviorReplace)
		if err != nil {
			return struct{}{}, badSession(err)
		}
		// Read the secret back, since the keyring may not notice that it used the wrong key.
		stored, err := service.GetSecret(item, *session)
		if err == nil && string(stored) != identity {
			err = errBadSession
		}
		return struct{}{}, err
	})
	return err
}

func (s secretService) Delete(ctx context.Context, ref Ref) error {
	_, err := withService(ctx, func(service *secretservice.SecretService, _ *secretservice.Session) (struct{}, error) {
		items, err := service.SearchCollection(secretservice.DefaultCollection, attributes(ref))
		for _, item := range items {
			err = errors.Join(err, service.DeleteItem(item))
		}
		return struct{}{}, err
	})
	return err
}

// withService calls do with a session of the Secret Service whose default collection is unlocked. If it is locked, the
// user is asked for its password, unless the context says not to.
func withService[T any](ctx context.Context, do func(*secretservice.SecretService, *secretservice.Session) (T, error)) (T, error) {
	value, err := bounded(ctx, promptBound, func() (none T, err error) {
		if !sessionBus() {
			return none, errors.New("there is no session bus")
		}
		service, err := secretservice.NewService()
		if err != nil {
			return none, err
		}
		locked, err := isLocked(service)
		if err != nil {
			return none, err
		}
		if locked && silent(ctx) {
			return none, errors.New("it is locked")
		}
		if locked {
			if err := service.Unlock([]dbus.ObjectPath{secretservice.DefaultCollection}); err != nil {
				return none, fmt.Errorf("it is locked: %w", err)
			}
			if locked, err = isLocked(service); err != nil || locked {
				return none, errors.Join(errors.New("it stays locked"), err)
			}
		}
		return inSession(service, do)
	})
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, context.Canceled) {
		return value, err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("it does not answer")
	}
	return value, fault.New(fault.PreflightFailed, "the keyring of this desktop (Secret Service): %w", err).
		Hint("log in to the desktop session that has the keyring, unlock it, and run the command again")
}

// errBadSession says that the two ends of a session have different keys. The library derives the key from the shared
// secret without its leading zero bytes, the keyring with them, so that the keys differ in about one session of 256.
var errBadSession = errors.New("the secret cannot be decrypted")

// badSession returns errBadSession for the keyring's error about a secret that it cannot decrypt.
func badSession(err error) error {
	if strings.Contains(err.Error(), "invalid way") { // gnome-keyring: "transferred or encrypted in an invalid way"
		return errBadSession
	}
	return err
}

// openSession is replaced by a test.
var openSession = func(service *secretservice.SecretService) (*secretservice.Session, error) {
	return service.OpenSession(secretservice.AuthenticationDHAES)
}

// inSession calls do with a session, and with a new one while the session is bad, at most four times: all four are bad
// only once in 4 billion calls.
func inSession[T any](service *secretservice.SecretService, do func(*secretservice.SecretService, *secretservice.Session) (T, error)) (value T, err error) {
	for range 4 {
		var session *secretservice.Session
		if session, err = openSession(service); err != nil {
			return value, err
		}
		value, err = do(service, session)
		service.CloseSession(session)
		if !errors.Is(err, errBadSession) {
			break
		}
	}
	return value, err
}

// isLocked reports whether the default collection is locked. If there is no default collection, it returns an error.
func isLocked(service *secretservice.SecretService) (bool, error) {
	locked, err := service.Obj(secretservice.DefaultCollection).GetProperty("org.freedesktop.Secret.Collection.Locked")
	if err != nil {
		return false, fmt.Errorf("it has no default collection: %w", err)
	}
	is, ok := locked.Value().(bool)
	if !ok {
		return false, errors.New("it does not say whether it is locked")
	}
	return is, nil
}

// sessionBus reports whether there is a session bus. Without one the library would start a new bus by dbus-launch.
func sessionBus() bool {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		return address != "autolaunch:"
	}
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(fmt.Sprintf("/run/user/%d/%s", os.Getuid(), name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}
