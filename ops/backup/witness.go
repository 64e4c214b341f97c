package backup

import (
	"fmt"
	"slices"

	"filippo.io/age"

	"hermes-box/ops/fault"
)

// witness is an identity that opens no file. It records the kinds of recipients that a file is encrypted to, for the
// error if no identity opens the file.
type witness struct{ kinds []string }

// Unwrap is the method of age.Identity.
func (w *witness) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, s := range stanzas {
		w.kinds = append(w.kinds, s.Type)
	}
	return nil, age.ErrIncorrectIdentity
}

// The kinds of recipients that Export writes, as age names them in a file.
const (
	kindIdentity   = "X25519"
	kindPassphrase = "scrypt"
)

// notOpened returns the error for an exported file that none of the identities opens. The header of the file has a part
// for each recipient, which only the identity of that recipient can check. A wrong identity and a damaged part look the
// same, so the error names both as possible causes.
func (w *witness) notOpened(identities []age.Identity) error {
	const again = "copy it again from where it came from"
	needs := slices.Contains(w.kinds, kindPassphrase)
	given := slices.ContainsFunc(identities, func(i age.Identity) bool { _, ok := i.(*age.ScryptIdentity); return ok })
	for _, kind := range w.kinds {
		if kind != kindIdentity && kind != kindPassphrase {
			return notExport(fmt.Errorf("it is for a recipient of the unknown kind %.40q", kind))
		}
	}
	switch {
	case needs && !given:
		return fault.New(fault.IntegrityFailed, "opening the file needs a passphrase, and none was given").Hint("give the passphrase that it was exported with")
	case needs:
		return fault.New(fault.IntegrityFailed, "the passphrase does not open the file: it was exported with another one, or its beginning is damaged").
			Hint("try again; or " + again)
	}
	if len(identities) == 0 {
		return fault.New(fault.IntegrityFailed, "opening the file needs an identity, and there is none here").
			Hint("give the identity that it was exported for: --identity FILE")
	}
	return fault.New(fault.IntegrityFailed, "the key does not open the file: it was exported for other recipients, or its beginning is damaged").
		Hint("give the identity that it was exported for: --identity FILE; or " + again)
}
