package ops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"filippo.io/age"

	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

// OwnName is the name of the box's own recipient in the list of its pool.
const OwnName = "this box"

// Recipients returns the recipients of a new pool of the box's backups: at first only the box's own.
func (b *Box) Recipients(r *keys.Record) []backup.Recipient {
	return []backup.Recipient{{Recipient: r.Recipient, Name: OwnName, Since: r.Created, Proven: true}}
}

// OpenPool opens the pool of the box's backups with the identity of the box, and makes the pool if there is none.
func (b *Box) OpenPool(ctx context.Context) (*backup.Pool, error) {
	r, err := keys.Read(b.Home, b.Name())
	if errors.Is(err, keys.ErrNoKey) {
		err = b.noKey(err)
	}
	if err != nil {
		return nil, err
	}
	return b.openPool(ctx, r)
}

func (b *Box) openPool(ctx context.Context, r *keys.Record) (*backup.Pool, error) {
	identity, err := b.identity(ctx, r)
	if err != nil {
		return nil, err
	}
	pool, err := backup.Open(b.Pool(), identity)
	if errors.Is(err, backup.ErrOtherRecipients) { // for example after a killed key make
		return nil, b.otherKey(err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return pool, err
	}
	if list, listErr := backup.List(b.Pool()); listErr != nil || len(list) > 0 || b.hasPassphrase() {
		return nil, fault.New(fault.IntegrityFailed, "there are backups in %s, but their key is missing: %w", b.Pool(), errors.Join(err, listErr)).
			Hint("%s", b.poolKeyHint())
	}
	return backup.Create(ctx, b.Pool(), b.Recipients(r))
}

// poolKeyHint returns the hint for backups whose key file, pool.key.age, is missing or damaged. Only the passphrase opens
// another file with that key.
func (b *Box) poolKeyHint() string {
	if b.hasPassphrase() {
		return "to write it again: hermes-box key make --passphrase"
	}
	return "put the file pool.key.age back from a copy of that directory"
}

// RecipientChange is the result of AddRecipient and RemoveRecipient.
type RecipientChange struct {
	backup.Recipient
	Already    bool               `json:"already"` // nothing was changed
	Recipients []backup.Recipient `json:"recipients"`
}

// AddRecipient makes the backups readable by a recipient. If identityFile is given, it must hold the identity of the
// recipient, and the recipient counts as proven. For a recipient that is in the list already, only the name and the
// proof are updated, if they are given.
func (b *Box) AddRecipient(ctx context.Context, recipient, name, identityFile string, sink Sink) (*RecipientChange, error) {
	to, err := keys.ParseRecipient(recipient)
	if err != nil {
		return nil, err
	}
	if err := keys.CheckName(name); err != nil {
		return nil, err
	}
	added := backup.Recipient{Recipient: to.String(), Name: name}
	var given []age.Identity
	if identityFile != "" {
		if given, err = keys.ReadIdentities(identityFile); err != nil {
			return nil, err
		}
		if err := keys.Prove(to, given); err != nil {
			return nil, err
		}
		added.Proven = true
	}
	return b.changeRecipients(ctx, sink, given, func(r *keys.Record, list []backup.Recipient) (*backup.Recipient, []backup.Recipient, error) {
		if added.Recipient == r.Recipient {
			return nil, nil, fault.New(fault.AlreadyExists, "this is the box's own recipient: it can open the backups anyway").
				Hint("to see all of them: hermes-box key status")
		}
		i := slices.IndexFunc(list, func(o backup.Recipient) bool { return o.Recipient == added.Recipient })
		if i < 0 {
			added.Since = time.Now().UTC()
			i, list = len(list), append(list, added)
		} else {
			if name != "" {
				list[i].Name = name
			}
			list[i].Proven = list[i].Proven || added.Proven
		}
		if slices.ContainsFunc(list, func(o backup.Recipient) bool {
			return name != "" && o.Name == name && o.Recipient != added.Recipient
		}) {
			return nil, nil, fault.New(fault.AlreadyExists, "another recipient has the name %q", name).Hint("choose another --name; to see all of them: hermes-box key status")
		}
		return &list[i], list, nil
	})
}

// RemoveRecipient removes a recipient, given by its text or its name, from those that can open the backups. The
// recipient can still open copies that were made before.
func (b *Box) RemoveRecipient(ctx context.Context, word string, sink Sink) (*RecipientChange, error) {
	if _, err := keys.ParseRecipient(word); err != nil && keys.CheckName(word) != nil {
		return nil, err // without the word, which may be a secret
	}
	return b.changeRecipients(ctx, sink, nil, func(r *keys.Record, list []backup.Recipient) (*backup.Recipient, []backup.Recipient, error) {
		i := slices.IndexFunc(list, func(o backup.Recipient) bool { return o.Recipient == word || o.Name == word })
		switch {
		case i < 0:
			return nil, nil, fault.New(fault.NotFound, "there is no recipient %q", word).Hint("to see all of them: hermes-box key status")
		case list[i].Recipient == r.Recipient:
			return nil, nil, fault.New(fault.InvalidInput, "this is the box's own recipient: without it no backup could be made or read here").
				Hint("to see all of them: hermes-box key status")
		}
		removed := list[i]
		return &removed, slices.Delete(list, i, i+1), nil
	})
}

// recipientChange changes a list of recipients. It returns the recipient that is added, removed or changed, and the new
// list.
type recipientChange func(*keys.Record, []backup.Recipient) (*backup.Recipient, []backup.Recipient, error)

// changeRecipients changes the list of the pool and checks that the key can be read again: by the box, and by the given
// identities.
func (b *Box) changeRecipients(ctx context.Context, sink Sink, given []age.Identity, change recipientChange) (*RecipientChange, error) {
	result := &RecipientChange{}
	err := b.changeKey(ctx, sink, func(r *keys.Record) []Step {
		var pool *backup.Pool
		var before []backup.Recipient
		return []Step{
			{ID: "open", Title: "open the backups", Do: func(ctx context.Context, _ *Progress) (err error) {
				if pool, err = b.openPool(ctx, r); err != nil {
					return err
				}
				before = pool.Recipients()
				about, after, err := change(r, pool.Recipients())
				if err != nil {
					return err
				}
				result.Recipient, result.Recipients, result.Already = *about, after, slices.Equal(before, after)
				return nil
			}},
			{ID: "recipients", Title: "change who can open the backups", Do: func(ctx context.Context, _ *Progress) error {
				if result.Already {
					return nil
				}
				if err := pool.Rewrite(ctx, result.Recipients); err != nil {
					return err
				}
				if _, err := b.openPool(ctx, r); err != nil {
					return fmt.Errorf("open the backups again: %w", err)
				}
				if given != nil {
					if _, err := backup.Open(b.Pool(), given...); err != nil {
						return fmt.Errorf("open the backups with the given identity: %w", err)
					}
				}
				return nil
			}, Undo: func(ctx context.Context) error {
				if result.Already {
					return nil
				}
				return pool.Rewrite(ctx, before)
			}},
		}
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// PassphraseSet is the result of AddPassphrase.
type PassphraseSet struct {
	Replaced bool `json:"replaced"` // there was one before
}

// AddPassphrase makes the backups readable with a passphrase too, which replaces an earlier one. The passphrase opens
// the directory of the backups and copies of it, but no file of ExportBackup.
func (b *Box) AddPassphrase(ctx context.Context, passphrase string, sink Sink) (*PassphraseSet, error) {
	if err := keys.CheckPassphrase(passphrase); err != nil {
		return nil, err
	}
	result := &PassphraseSet{Replaced: b.hasPassphrase()}
	err := b.changeKey(ctx, sink, func(r *keys.Record) []Step {
		return []Step{{ID: "passphrase", Title: "let the passphrase open the backups", Do: func(ctx context.Context, _ *Progress) error {
			pool, err := b.openPool(ctx, r)
			if err != nil {
				return err
			}
			// The earlier passphrase cannot be put back, so an interruption has no effect from here on.
			if err := pool.AddPassphrase(ctx, passphrase, b.PassphraseWork); err != nil {
				return err
			}
			if _, err := backup.OpenWithPassphrase(b.Pool(), passphrase); err != nil {
				return fmt.Errorf("open the backups again: %w", err)
			}
			return nil
		}}}
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// PassphraseRemoved is the result of RemovePassphrase.
type PassphraseRemoved struct {
	Already bool `json:"already"` // there was none
}

// RemovePassphrase removes the passphrase that opens the backups. It needs the key of the box. The passphrase still
// opens copies that were made before.
func (b *Box) RemovePassphrase(ctx context.Context, sink Sink) (*PassphraseRemoved, error) {
	result := &PassphraseRemoved{Already: !b.hasPassphrase()}
	err := b.changeKey(ctx, sink, func(r *keys.Record) []Step {
		return []Step{{ID: "passphrase", Title: "remove the passphrase", Do: func(ctx context.Context, _ *Progress) error {
			if result.Already {
				return nil
			}
			pool, err := b.openPool(ctx, r)
			if err != nil {
				return err
			}
			return pool.RemovePassphrase()
		}}}
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// hasPassphrase reports whether the key of the backups can be opened with a passphrase.
func (b *Box) hasPassphrase() bool {
	_, err := os.Lstat(filepath.Join(b.Pool(), "pool.passphrase.age"))
	return err == nil
}
