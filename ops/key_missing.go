package ops

import (
	"context"
	"errors"
	"strings"
	"time"

	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

// keyProblem returns what is wrong with the key of the box; nil if nothing is, or if that cannot be known. r and err are
// what keys.Read returned. Unless keyring is true, it looks only for an identity in a file, and asks no keyring.
func (b *Box) keyProblem(ctx context.Context, r *keys.Record, err error, keyring bool) error {
	switch {
	case errors.Is(err, keys.ErrNoKey) && !b.hasPool(): // an earlier version made the box
		return nil
	case errors.Is(err, keys.ErrNoKey):
		return b.noKey(err)
	case err == nil && (keyring || r.Store == keys.File):
		_, err = b.identity(ctx, r)
	}
	return err
}

// OldKeys warns that what opened the backups of the old box does not open those here, which are for a new key.
var OldKeys = Advised{"the key, the recipients and the passphrase of the old box do not open the backups here",
	"hermes-box key export FILE; hermes-box key add-recipient AGE_RECIPIENT; hermes-box key add-passphrase"}

// NewKey warns that nobody has a copy of a new key.
var NewKey = Advised{"the key of this box is new, and has no copy yet", "hermes-box key export FILE"}

// KeyWarning returns the warning about a new key of the restored box; nil if it has none.
func (r *Restored) KeyWarning() *Advised {
	switch {
	case r.NewKey && r.File != "":
		return &OldKeys
	case r.NewKey:
		return &NewKey
	}
	return nil
}

// advised returns the warning for an error, with its hint.
func advised(err error) *Advised { return &Advised{err.Error(), fault.HintOf(err)} }

// openers returns in words what opens the backups of the box besides its key on this machine. r is nil if there is no
// record of the key.
func (b *Box) openers(r *keys.Record) (all []string) {
	if r != nil && r.Exported != nil {
		all = append(all, "the file that hermes-box key export wrote on "+r.Exported.Local().Format(time.DateOnly))
	}
	list, _ := backup.ReadRecipients(b.Pool()) // without the list, none is known
	for _, to := range list {
		if r == nil || to.Recipient != r.Recipient {
			all = append(all, "the identity of "+strings.TrimSpace(to.Name+" "+to.Recipient))
		}
	}
	if b.hasPassphrase() {
		all = append(all, "the passphrase of hermes-box key add-passphrase")
	}
	return all
}
