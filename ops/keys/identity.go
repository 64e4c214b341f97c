package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"filippo.io/age"

	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// IdentityLimit is the size of the largest identity file that is read, in bytes: far more than one needs.
const IdentityLimit = 64 << 10

// ErrEncrypted means that a file of identities is itself encrypted by age, as with a passphrase.
var ErrEncrypted = errors.New("it is encrypted")

const keyFileHint = "give the file that key export wrote on the machine that had the key, or one that age-keygen wrote"

// HoldsKey reports whether a file begins as a file of age identities does. It leaves the file at its beginning.
func HoldsKey(f io.ReadSeeker) bool {
	head := make([]byte, 1<<10)
	n, _ := io.ReadFull(f, head)
	_, err := f.Seek(0, io.SeekStart)
	text := strings.TrimSpace(string(head[:n]))
	return err == nil && (strings.HasPrefix(text, "AGE-SECRET-KEY-") || strings.HasPrefix(text, "# ") && strings.Contains(text, "\nAGE-SECRET-KEY-"))
}

// isExported reports whether a file is encrypted by age and is too long for identities, or encrypted to a recipient as
// exported backups are. An encrypted file of identities has a passphrase.
func isExported(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	info, err := f.Stat()
	return err == nil && strings.HasPrefix(string(head[:n]), "age-encryption.org/") &&
		(info.Size() > IdentityLimit || strings.Contains(string(head[:n]), "\n-> X25519 "))
}

// ReadIdentities reads a file of age identities. No error contains any part of the file.
func ReadIdentities(path string) ([]age.Identity, error) {
	if err := notSecret(path); err != nil {
		return nil, err
	}
	data, err := store.ReadFile(path, IdentityLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "there is no file %s", path).Hint("give the path of an age identity file")
	}
	if isExported(path) {
		return nil, fault.New(fault.InvalidInput, "%s is an exported backup, or another file that age has encrypted, not a key", path).Hint(keyFileHint)
	}
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "the identity file cannot be read: %w", err).Hint("give the path of an age identity file")
	}
	return ParseIdentities(data, path)
}

// ParseIdentities parses the text of a file of age identities. from is the name of the file, for errors. No error
// contains any part of the text.
func ParseIdentities(data []byte, from string) ([]age.Identity, error) {
	identities, err := age.ParseIdentities(bytes.NewReader(data))
	if err == nil {
		return identities, nil
	}
	reason := "a line is neither an identity nor a comment"
	switch text := string(data); {
	case strings.HasPrefix(text, "age-encryption.org/") || strings.HasPrefix(text, "-----BEGIN AGE"):
		return nil, fault.New(fault.InvalidInput, "%s is not an age identity file: %w", from, ErrEncrypted).
			Hint("decrypt it first: age -d -o IDENTITY FILE")
	case strings.TrimSpace(text) == "":
		reason = "it is empty"
	case !strings.Contains(strings.ToUpper(text), "AGE-SECRET-KEY-") && strings.Contains(text, "age1"):
		reason = "it has only a public key (age1...), which opens nothing"
	}
	return nil, fault.New(fault.InvalidInput, "%s is not an age identity file: %s", from, reason).Hint(keyFileHint)
}

// Stored is an identity and the store that has it.
type Stored struct {
	Store    Store
	Identity *age.X25519Identity
}

// Find returns the identities of a box on this machine: the one in the box's identity file, whatever its recipient is,
// and those of the given recipients in the keyring. Use it only if no record names the store. A keyring that is locked
// is an error.
func Find(ctx context.Context, home store.Home, box string, recipients []string) (all []Stored, err error) {
	text, err := fileStore{home}.Get(ctx, Ref{Box: box})
	switch {
	case err == nil:
		if identity, err := age.ParseX25519Identity(text); err == nil {
			all = append(all, Stored{fileStore{home}, identity})
		}
	case !errors.Is(err, ErrNotFound):
		return nil, err
	}
	keyring := systemStore()
	if keyring == nil {
		return all, nil
	}
	if why, err := keyring.usable(ctx); err != nil || why != "" {
		return all, err
	}
	for _, recipient := range recipients {
		switch identity, err := Load(ctx, keyring, Ref{box, recipient}); {
		case err == nil:
			all = append(all, Stored{keyring, identity})
		case !errors.Is(err, ErrNotFound) && fault.CodeOf(err) != fault.IntegrityFailed:
			return all, fmt.Errorf("look for the identity of %s: %w", recipient, err)
		}
	}
	return all, nil
}
