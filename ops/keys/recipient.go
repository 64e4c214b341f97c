package keys

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"filippo.io/age"

	"hermes-box/ops/fault"
)

// ParseRecipient parses an age recipient (age1...). An error never repeats a text that could be a secret.
func ParseRecipient(text string) (*age.X25519Recipient, error) {
	if err := notSecret(text); err != nil {
		return nil, err
	}
	r, err := age.ParseX25519Recipient(text)
	if err == nil {
		return r, nil
	}
	return nil, fault.New(fault.InvalidInput, "%.80q is not an age recipient of the kind X25519, which has age1 and 58 more characters", text).
		Hint("to print the recipient of an identity file: age-keygen -y FILE; to make one: age-keygen -o FILE")
}

// notSecret returns an error for a text that holds an identity. The error does not repeat it.
func notSecret(text string) error {
	if !strings.Contains(strings.ToUpper(text), "AGE-SECRET-KEY-") {
		return nil
	}
	return fault.New(fault.InvalidInput, "this is an identity, which is secret, and belongs in no command line").
		Hint("it may be in the history of your shell now: make another with age-keygen, and give its public key (age1...)")
}

// Prove returns an error unless one of the identities decrypts what is encrypted to the recipient.
func Prove(recipient age.Recipient, identities []age.Identity) error {
	challenge := make([]byte, 32)
	rand.Read(challenge) // never fails
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, recipient)
	if err != nil {
		return fmt.Errorf("encrypt a challenge: %w", err)
	}
	if _, err := w.Write(challenge); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	r, err := age.Decrypt(&sealed, identities...)
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(r)
	}
	if err != nil || !bytes.Equal(answer, challenge) {
		return fault.New(fault.InvalidInput, "the identity file does not belong to this recipient: it cannot decrypt what is encrypted to the recipient").
			Hint("to print the recipient of an identity file: age-keygen -y FILE")
	}
	return nil
}

// CheckName returns an error for a name of a recipient that cannot be printed in a line, is too long, or looks like a
// key.
func CheckName(name string) error {
	if err := notSecret(name); err != nil {
		return err
	}
	if utf8.RuneCountInString(name) <= 64 && utf8.ValidString(name) && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) && !strings.HasPrefix(name, "age1") {
		return nil
	}
	return fault.New(fault.InvalidInput, "%.80q cannot be the name of a recipient", name).Hint("give a short name, such as --name laptop")
}

// MinPassphrase is the least number of characters of a passphrase.
const MinPassphrase = 10

// CheckPassphrase returns an error for a passphrase that is too weak. The error does not repeat it.
func CheckPassphrase(passphrase string) error {
	different := map[rune]bool{}
	for _, r := range passphrase {
		different[r] = true
	}
	switch {
	case !utf8.ValidString(passphrase) || strings.ContainsFunc(passphrase, unicode.IsControl):
		return fault.New(fault.InvalidInput, "the passphrase has characters that cannot be typed").Hint("use letters, digits, spaces and punctuation")
	case utf8.RuneCountInString(passphrase) < MinPassphrase:
		return fault.New(fault.InvalidInput, "the passphrase is too short: it needs at least %d characters", MinPassphrase).
			Hint("four random words are strong and can be remembered")
	case len(different) < 4:
		return fault.New(fault.InvalidInput, "the passphrase repeats the same few characters").
			Hint("four random words are strong and can be remembered")
	}
	return nil
}
