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
