package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"filippo.io/age"

	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

// KeyMade is the result of MakeKey.
type KeyMade struct {
	Already bool `json:"already"` // the box had a key, and nothing was changed
	Found   bool `json:"found"`   // only the record of that key was lost, and was written again
	// Rewritten reports whether the file with the key of the backups was missing or damaged, and was written again.
	Rewritten bool   `json:"rewritten,omitempty"`
	Earlier   string `json:"earlier,omitempty"` // the recipient of the lost key, which stays a recipient of the backups
	KeyPlace
}

// MakeKey makes the key of a box that has none. If there are backups, and neither identities nor a passphrase are
// given, it makes no new key, but looks for the identity that opens them, even for a box that was destroyed. If the key
// is lost and the given identities or the passphrase open the backups, MakeKey makes a new key that opens them too.
// Everything that opened them before still does. After a killed run, the next run finishes its work.
func (b *Box) MakeKey(ctx context.Context, given []age.Identity, passphrase string, sink Sink) (*KeyMade, error) {
	result := &KeyMade{}
	err := b.change(ctx, "key", false, sink, func(context.Context) (Plan, error) {
		if err := b.exists(); err != nil && !b.hasPool() {
			return Plan{}, err
		}
		before, readErr := keys.Read(b.Home, b.Name())
		var pool *backup.Pool // nil if nothing was given
		var r *keys.Record
		var recipients []backup.Recipient // of the pool, before it was changed
		made := false
		open := Step{ID: "open", Title: "open the backups without the key", Do: func(context.Context, *Progress) (err error) {
			if !b.hasPool() {
				return fault.New(fault.InvalidInput, "box %q has no backups to open", b.Name()).Hint("hermes-box key make")
			}
			pool, err = b.openWith(given, passphrase, "hermes-box key make")
			return err
		}}
		make := Step{ID: "key", Title: "make the key of its backups", Do: func(ctx context.Context, p *Progress) (err error) {
			r, err = b.makeKey(ctx, pool != nil, func() error { made = true; return nil }, p)
			if err != nil {
				return err
			}
			result.Already, result.Found, result.KeyPlace = !made, !made && readErr != nil, *b.place(r)
			return nil
		}, Changed: func() bool { return made }, Undo: func(ctx context.Context) error {
			if err := b.removeKey(ctx); err != nil || before == nil {
				return err
			}
			return before.Save(b.Home)
		}}
		join := Step{ID: "recipients", Title: "let the new key open the backups", Do: func(ctx context.Context, _ *Progress) error {
			list, earlier := b.withOwn(pool, r, lostName)
			if list == nil { // the key is a recipient, but the file that is encrypted to it may be missing or damaged
				identity, err := b.identity(ctx, r)
				if err != nil || backup.CheckKey(b.Pool(), identity) == nil {
					return err
				}
				result.Rewritten = true
				return pool.Rewrite(ctx, pool.Recipients())
			}
			recipients = pool.Recipients()
			for i := range list {
				list[i].Proven = list[i].Proven && list[i].Recipient != earlier // the earlier key is lost
			}
			if err := pool.Rewrite(ctx, list); err != nil {
				return err
			}
			if _, err := b.openPool(ctx, r); err != nil {
				return fmt.Errorf("open the backups again: %w", err)
			}
			result.Already, result.Found, result.Earlier = false, false, earlier
			return nil
		}, Changed: func() bool { return len(recipients) > 0 }, Undo: func(ctx context.Context) error { // without a list, nothing is known
			return pool.Rewrite(ctx, recipients)
		}}
		if len(given) == 0 && passphrase == "" {
			return Plan{Steps: []Step{make}}, nil
		}
		return Plan{Steps: []Step{open, make, join}}, nil
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// lostName is the name that the recipient of a lost key gets in the list of recipients. The recipient stays in the
// list, since a copy of that key may turn up.
const lostName = "the lost key"

// withOwn returns the recipients of an opened pool with the box's own recipient added. The recipient that was the box's
// own before is returned as before; its name in the list becomes the value of earlier. If the pool has the box's
// recipient already, the list is nil.
func (b *Box) withOwn(pool *backup.Pool, r *keys.Record, earlier string) (list []backup.Recipient, before string) {
	list = pool.Recipients()
	if slices.ContainsFunc(list, func(o backup.Recipient) bool { return o.Recipient == r.Recipient }) {
		return nil, ""
	}
	for _, o := range list {
		if o.Name == OwnName {
			before = o.Recipient
		}
	}
	renamed(list, OwnName, earlier)
	return append(b.Recipients(r), list...), before
}

// openWith opens the backups without the key of the box. command is the command without --identity and --passphrase,
// for the hint of an error.
func (b *Box) openWith(given []age.Identity, passphrase, command string) (*backup.Pool, error) {
	if passphrase == "" {
		pool, err := backup.Open(b.Pool(), given...)
		if errors.Is(err, backup.ErrOtherRecipients) {
			hint := "with the identity of one of them: " + command + " --identity FILE"
			if b.hasPassphrase() {
				hint += "; with the passphrase of the backups: " + command + " --passphrase"
			}
			return nil, fault.New(fault.CodeOf(err), "%w", err).Hint("%s", hint)
		}
		return pool, err
	}
	if b.hasPool() && !b.hasPassphrase() {
		return nil, fault.New(fault.InvalidInput, "no passphrase opens the backups of box %q", b.Name()).
			Hint("with an exported key: %s --identity FILE", command)
	}
	return backup.OpenWithPassphrase(b.Pool(), passphrase)
}
