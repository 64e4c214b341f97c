package ops

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

// KeyImported is the result of ImportKey.
type KeyImported struct {
	Already bool `json:"already"` // the box had this identity
	KeyPlace
}

// ImportKey puts a lost identity of the box back, where MakeKey would put a new one. given are the identities in a file
// that ExportKey has written; from is the name of the file, for errors. The identity must belong to the recipient in
// the record of the key. If the record is lost too, the identity must open the backups, and not be that of another
// recipient in their list. The box may be gone. An identity that works is not replaced.
func (b *Box) ImportKey(ctx context.Context, given []age.Identity, from string, sink Sink) (*KeyImported, error) {
	result := &KeyImported{}
	var identity *age.X25519Identity
	var r *keys.Record
	var put keys.Store // the store that an undo removes the identity from
	err := b.change(ctx, "key", false, sink, func(context.Context) (Plan, error) {
		return Plan{Steps: []Step{
			{ID: "check", Title: "check that the identity is that of the box", Do: func(ctx context.Context, p *Progress) (err error) {
				r, err = keys.Read(b.Home, b.Name())
				switch {
				case err == nil:
					identity, result.Already, err = b.lostIdentity(ctx, r, x25519(given), from)
				case errors.Is(err, keys.ErrNoKey):
					if identity, r, err = b.openingIdentity(ctx, x25519(given), from); err == nil {
						p.Log("the record of the key is lost; the identity opens the backups of the box")
					}
				}
				return err
			}},
			{ID: "import", Title: "put the identity back", Do: func(ctx context.Context, p *Progress) (err error) {
				if !result.Already {
					if put, err = b.keepIdentity(ctx, r, identity, p); err != nil {
						return err
					}
				}
				result.KeyPlace = *b.place(r)
				return nil
			}, Changed: func() bool { return put != nil }, Undo: func(ctx context.Context) error {
				return put.Delete(ctx, r.Ref())
			}},
		}}, nil
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// x25519 returns the identities that can be those of a box.
func x25519(given []age.Identity) (all []*age.X25519Identity) {
	for _, g := range given {
		if identity, ok := g.(*age.X25519Identity); ok {
			all = append(all, identity)
		}
	}
	return all
}

// lostIdentity returns the given identity that a record names. It is an error if the box still has an identity that
// works, unless that is the given one: then already is true.
func (b *Box) lostIdentity(ctx context.Context, r *keys.Record, given []*age.X25519Identity, from string) (identity *age.X25519Identity, already bool, err error) {
	i := slices.IndexFunc(given, func(g *age.X25519Identity) bool { return g.Recipient().String() == r.Recipient })
	_, openErr := keys.Open(b.Home, r.Store) // an error: that store is not on this machine
	if openErr == nil {
		switch _, err := b.identity(ctx, r); {
		case ctx.Err() != nil:
			return nil, false, ctx.Err()
		case err == nil && i >= 0:
			return given[i], true, nil
		case err == nil:
			err := fault.New(fault.AlreadyExists, "box %q has its identity already, and it is not replaced: %s", b.Name(), b.place(r).Where)
			if slices.ContainsFunc(given, b.opensPool) {
				return nil, false, err.Hint("to let the box open backups that are for the key in this file: hermes-box key make --identity FILE")
			}
			return nil, false, err.Hint("hermes-box key status")
		case !identityLost(err) && b.KeyStore == "":
			return nil, false, fault.New(fault.CodeOf(err), "%w", err).
				Hint("%s; to keep the key in a file: hermes-box key import FILE --key-store file", fault.HintOf(err))
		}
	}
	if i < 0 {
		return nil, false, fault.New(fault.InvalidInput, "%s does not hold the identity of box %q: the box has the recipient %s, the file %s",
			from, b.Name(), r.Recipient, recipientsOf(given)).
			Hint("give the file that was exported for this box: a comment in it names the box")
	}
	return given[i], false, nil
}

// opensPool reports whether an identity opens the backups of the box.
func (b *Box) opensPool(identity *age.X25519Identity) bool {
	_, err := backup.Open(b.Pool(), identity)
	return err == nil
}

// identityLost reports whether an error of Box.identity means that the store can be read, but the identity is missing or
// damaged.
func identityLost(err error) bool {
	return errors.Is(err, keys.ErrNotFound) || fault.CodeOf(err) == fault.IntegrityFailed
}

// recipientsOf lists the recipients of identities for an error.
func recipientsOf(given []*age.X25519Identity) string {
	var all []string
	for _, g := range given {
		all = append(all, g.Recipient().String())
	}
	if len(all) == 0 {
		return "none of the kind X25519"
	}
	return strings.Join(all, ", ")
}

// openingIdentity returns the given identity that opens the backups of the box, and a new record for it, which is not
// written yet.
func (b *Box) openingIdentity(ctx context.Context, given []*age.X25519Identity, from string) (*age.X25519Identity, *keys.Record, error) {
	if !b.hasPool() {
		err := fault.New(fault.NotFound, "box %q has no record of a key and no backups: nothing shows which identity is its own", b.Name())
		if b.Record == nil {
			return nil, nil, err.Hint("to make the box and its key: hermes-box create; %s", restoreFileHint)
		}
		return nil, nil, err.Hint("hermes-box key make")
	}
	var others error
	for _, identity := range given {
		pool, err := backup.Open(b.Pool(), identity)
		if errors.Is(err, backup.ErrOtherRecipients) {
			continue
		}
		if err == nil {
			if others = b.othersIdentity(pool, identity, from); others != nil {
				continue
			}
			err = b.opensBackup(ctx, pool)
		}
		if err != nil {
			return nil, nil, err
		}
		return identity, b.recordOf(pool, identity), nil
	}
	if others != nil {
		return nil, nil, others
	}
	return nil, nil, fault.New(fault.InvalidInput, "%s does not open the backups of box %q: its identity has the recipient %s", from, b.Name(), recipientsOf(given)).
		Hint("give the file that was exported for this box: a comment in it names the box")
}

// othersIdentity returns an error if the list of recipients names another recipient as the box's own: then the identity
// that opened the pool is somebody else's.
func (b *Box) othersIdentity(pool *backup.Pool, identity *age.X25519Identity, from string) error {
	whose, own := identity.Recipient().String(), ""
	for _, to := range pool.Recipients() {
		switch {
		case to.Name == OwnName && to.Recipient == identity.Recipient().String():
			return nil
		case to.Name == OwnName:
			own = to.Recipient
		case to.Recipient == identity.Recipient().String():
			whose = strings.TrimSpace(to.Name + " " + to.Recipient)
		}
	}
	if own == "" {
		return nil
	}
	err := fault.New(fault.InvalidInput, "%s holds the identity of %s: it opens the backups of box %q, but the box's own recipient is %s", from, whose, b.Name(), own)
	return err.Hint("to make a new key with this identity: hermes-box key make --identity FILE")
}

// opensBackup returns an error if there are backups and none of them can be opened. Without backups it is enough that
// the key of the pool could be opened.
func (b *Box) opensBackup(ctx context.Context, pool *backup.Pool) error {
	list, err := b.Backups()
	if err != nil || len(list) == 0 {
		return err
	}
	var first error
	for _, e := range list {
		bundle, err := pool.Load(ctx, e.ID)
		if err == nil {
			bundle.Close()
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// recordOf returns a record for the identity that opened a pool. The caller sets its Store.
func (b *Box) recordOf(pool *backup.Pool, identity *age.X25519Identity) *keys.Record {
	r := &keys.Record{Box: b.Name(), Recipient: identity.Recipient().String(), Created: time.Now().UTC()}
	for _, to := range pool.Recipients() {
		if to.Recipient == r.Recipient {
			r.Created = to.Since
		}
	}
	return r
}

// keepIdentity stores an identity and writes its record. Until the new record is written, the old one names the old
// store. It returns the store that got the identity, even with an error; nil if no store got it, or had it before.
func (b *Box) keepIdentity(ctx context.Context, r *keys.Record, identity *age.X25519Identity, p *Progress) (put keys.Store, err error) {
	s, why, err := b.storeFor(ctx, r, identity)
	if err != nil {
		return nil, err
	}
	if _, err := keys.Load(ctx, s, r.Ref()); errors.Is(err, keys.ErrNotFound) {
		put = s
	}
	if err := keys.Put(ctx, s, b.Name(), identity); err != nil {
		return put, err
	}
	r.Store = s.Name()
	if err := r.Save(b.Home); err != nil {
		return put, err
	}
	p.Log(keptIn(s, why, r))
	return put, nil
}

// storeFor returns the store for an identity: one of this machine that has it already, or else the one that would get a
// new identity.
func (b *Box) storeFor(ctx context.Context, r *keys.Record, identity *age.X25519Identity) (keys.Store, string, error) {
	if b.KeyStore == "" {
		found, _ := keys.Find(ctx, b.Home, b.Name(), []string{r.Recipient}) // if the keyring is locked, chooseStore returns the error
		for _, f := range found {
			if f.Identity.String() == identity.String() {
				return f.Store, "", nil
			}
		}
	}
	return b.chooseStore(ctx, "hermes-box key import FILE --key-store file")
}

// findKey searches the stores of this machine for the identity that opens the backups, and writes a record for it. It
// returns nil if no store has it.
func (b *Box) findKey(ctx context.Context, p *Progress) (*keys.Record, error) {
	var recipients []string
	list, _ := backup.ReadRecipients(b.Pool()) // without the list, keys.Find reads only the identity file
	for _, to := range list {
		recipients = append(recipients, to.Recipient)
	}
	found, err := keys.Find(ctx, b.Home, b.Name(), recipients)
	for _, f := range found {
		pool, openErr := backup.Open(b.Pool(), f.Identity)
		switch {
		case errors.Is(openErr, backup.ErrOtherRecipients) || errors.Is(openErr, fs.ErrNotExist):
			continue
		case openErr != nil:
			return nil, openErr
		}
		r := b.recordOf(pool, f.Identity)
		r.Store = f.Store.Name()
		if err := r.Save(b.Home); err != nil {
			return nil, err
		}
		p.Log("the record of the key was lost, and is written again: " + keptIn(f.Store, "", r))
		return r, nil
	}
	return nil, err
}
