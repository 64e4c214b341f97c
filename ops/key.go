package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"al.essio.dev/pkg/shellescape"
	"filippo.io/age"

	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
	"hermes-box/ops/store"
)

// Pool returns the directory of the box's backups, whether or not it exists.
func (b *Box) Pool() string { return filepath.Join(b.Dir, "backups", b.Name()) }

// Identity returns the identity of the box, which opens its backups. If the box has none, the error wraps
// keys.ErrNoKey. A keyring that is locked is an error: no other store is tried.
func (b *Box) Identity(ctx context.Context) (*age.X25519Identity, error) {
	r, err := keys.Read(b.Home, b.Name())
	if errors.Is(err, keys.ErrNoKey) {
		return nil, b.noKey(err)
	}
	if err != nil {
		return nil, err
	}
	return b.identity(ctx, r)
}

func (b *Box) noKey(err error) error {
	switch {
	case b.hasPool():
		return fault.New(fault.NotFound, "%w of box %q on record, but there are backups in %s", err, b.Name(), b.Pool()).
			Hint("to look for it on this machine: hermes-box key make; %s", first(b.waysToOpen()))
	case b.Record == nil:
		return fault.New(fault.NotFound, "%w of box %q", err, b.Name()).Hint("to make the box and its key: hermes-box create; %s", restoreFileHint)
	}
	return fault.New(fault.NotFound, "%w of box %q: an earlier version made it without one", err, b.Name()).Hint("hermes-box key make")
}

// identity returns the identity that a record names.
func (b *Box) identity(ctx context.Context, r *keys.Record) (*age.X25519Identity, error) {
	s, err := keys.Open(b.Home, r.Store)
	if err != nil {
		return nil, err
	}
	identity, err := keys.Load(ctx, s, r.Ref())
	switch {
	case errors.Is(err, keys.ErrNotFound):
		return nil, fault.New(fault.NotFound, "the identity of box %q is missing: %s: %w", b.Name(), s.Where(r.Ref()), err).Hint("%s", b.lostHint())
	case fault.CodeOf(err) == fault.IntegrityFailed:
		return nil, fault.New(fault.IntegrityFailed, "%w", err).Hint("%s", b.lostHint())
	}
	return identity, err
}

// lostHint returns the commands that help if the identity of the box is lost.
func (b *Box) lostHint() string {
	hint, others := b.waysToOpen()
	if !others {
		hint += "; without one: hermes-box key make"
	}
	return hint
}

func first(hint string, _ bool) string { return hint }

// waysToOpen returns the commands that open the backups although the identity of the box is lost. It names the
// passphrase or another recipient only if the backups have one; others reports whether they do.
func (b *Box) waysToOpen() (hint string, others bool) {
	r, _ := keys.Read(b.Home, b.Name()) // without the record, the box's own recipient is known by its name
	hint = "with an exported key: hermes-box key import FILE"
	if b.hasPassphrase() {
		hint, others = hint+"; with the passphrase of the backups: hermes-box key make --passphrase", true
	}
	list, _ := backup.ReadRecipients(b.Pool()) // without the list, no other recipient is known
	if slices.ContainsFunc(list, func(to backup.Recipient) bool {
		return to.Name != OwnName && (r == nil || to.Recipient != r.Recipient)
	}) {
		hint, others = hint+"; with the identity of another recipient: hermes-box key make --identity FILE", true
	}
	return hint, others
}

// makeKey makes the identity of the box unless it has one, and returns its record. It calls making before it makes
// anything. If the box has an identity already, as after a destroy that kept it for the backups, making is not called.
// If only the record is lost, the identity that opens the backups is looked for on this machine. Backups whose key is
// lost are an error, unless opened is true: then another identity or a passphrase opens them.
func (b *Box) makeKey(ctx context.Context, opened bool, making func() error, p *Progress) (*keys.Record, error) {
	r, err := keys.Read(b.Home, b.Name())
	switch {
	case err == nil:
		var own *age.X25519Identity
		own, err = b.identity(ctx, r)
		if err == nil && !opened && b.hasPool() {
			if _, err := backup.Open(b.Pool(), own); errors.Is(err, backup.ErrOtherRecipients) {
				return nil, b.otherKey(err)
			}
		}
		if err == nil {
			p.Log("the box keeps the identity that its name already has: " + r.Recipient)
			return r, nil
		}
		if !errors.Is(err, keys.ErrNotFound) && !(opened && identityLost(err)) || b.hasPool() && !opened {
			return nil, b.keyLost(err)
		}
	case !errors.Is(err, keys.ErrNoKey):
		return nil, err
	case b.hasPool():
		if r, err = b.findKey(ctx, p); err != nil || r != nil {
			return r, err
		}
		if !opened {
			return nil, b.keyLost(fault.New(fault.NotFound,
				"there are backups of box %q in %s, but no record of their key, and this machine does not have the identity that opens them", b.Name(), b.Pool()))
		}
	}
	s, why, err := b.chooseStore(ctx, "hermes-box create --key-store file")
	if err != nil {
		return nil, err
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	if err := making(); err != nil {
		return nil, err
	}
	r = &keys.Record{Box: b.Name(), Store: s.Name(), Recipient: identity.Recipient().String(), Created: time.Now().UTC()}
	if err := r.Save(b.Home); err != nil { // first, so that an undo finds the identity
		return nil, err
	}
	if err := keys.Put(ctx, s, b.Name(), identity); err != nil {
		return nil, err
	}
	p.Log(keptIn(s, why, r))
	return r, nil
}

// keptIn says where the identity of a record is now, and why it is there.
func keptIn(s keys.Store, why string, r *keys.Record) string {
	if why != "" {
		why = " (" + why + ")"
	}
	return fmt.Sprintf("the identity of this box is in %s%s; its recipient is %s", s.Where(r.Ref()), why, r.Recipient)
}

// chooseStore returns the store for an identity, as keys.Choose does. If a keyring stays locked, the hint has the
// command that keeps the key in a file.
func (b *Box) chooseStore(ctx context.Context, inFile string) (keys.Store, string, error) {
	s, why, err := keys.Choose(ctx, b.Home, b.KeyStore)
	if hint := fault.HintOf(err); err != nil && b.KeyStore == "" && hint != "" {
		err = fault.New(fault.CodeOf(err), "%w", err).Hint("%s; to keep the key in a file: %s", hint, inFile)
	}
	return s, why, err
}

// keyLost adds a hint to an error about an identity that is lost. The hint has no command that returns the same error.
func (b *Box) keyLost(err error) error {
	if fault.CodeOf(err) != fault.NotFound && !identityLost(err) {
		return err
	}
	hint, _ := b.waysToOpen()
	switch r, readErr := keys.Read(b.Home, b.Name()); {
	case b.hasPool():
		hint += "; " + b.withoutBackups()
	case readErr == nil && r.Store == keys.File: // a file with another identity is in the way
		path := b.place(r).Where
		hint += fmt.Sprintf("; to make a new key, and keep that file: mv %s %s", shellescape.Quote(path), shellescape.Quote(unused(path+".old")))
	}
	return fault.New(fault.PreflightFailed, "%w", err).Hint("%s", hint)
}

// withoutBackups returns the command that moves the backups of the box away, so that new ones can be made.
func (b *Box) withoutBackups() string {
	return fmt.Sprintf("to go on without these backups: mv %s %s", shellescape.Quote(b.Pool()), shellescape.Quote(unused(b.Pool()+".old")))
}

// unused returns a path that does not exist: the given one, or else with a number. mv would move a directory into an
// existing one.
func unused(path string) string {
	free := path
	for n := 2; ; n++ {
		if _, err := os.Lstat(free); err != nil {
			return free
		}
		free = fmt.Sprint(path, n)
	}
}

// otherKey adds to an error of opening the backups, which are for another key than that of the box, the commands that
// help. It changes no other error.
func (b *Box) otherKey(err error) error {
	if !errors.Is(err, backup.ErrOtherRecipients) {
		return err
	}
	hint := "with the key that they were made for: hermes-box key make --identity FILE"
	if b.hasPassphrase() {
		hint += "; with the passphrase of the backups: hermes-box key make --passphrase"
	}
	return fault.New(fault.CodeOf(err), "%w", err).Hint("%s; %s", hint, b.withoutBackups())
}

// removeKey removes the identity of the box and its record, in this order, so that no identity is left without a
// record.
func (b *Box) removeKey(ctx context.Context) error {
	r, err := keys.Read(b.Home, b.Name())
	if errors.Is(err, keys.ErrNoKey) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := keys.Open(b.Home, r.Store)
	if err != nil {
		return err
	}
	if err := s.Delete(ctx, r.Ref()); err != nil {
		return fmt.Errorf("remove the identity of box %q from %s: %w", b.Name(), s.Where(r.Ref()), err)
	}
	return keys.Remove(b.Home, b.Name())
}

// hasKey reports whether there is a record of the box's key.
func (b *Box) hasKey() bool {
	_, err := keys.Read(b.Home, b.Name())
	return !errors.Is(err, keys.ErrNoKey)
}

// destroyKey records in result where the key of a destroyed box is. If remove is set and there are no backups, it
// removes the key. Otherwise the key is kept even without backups, since they may be on a disk that is not mounted. It
// cannot fail: destroy must work with a locked keyring too.
func (b *Box) destroyKey(ctx context.Context, p *Progress, remove bool, result *Destroyed) {
	r, err := keys.Read(b.Home, b.Name())
	backups := b.hasPool()
	if errors.Is(err, keys.ErrNoKey) && !backups {
		return
	}
	if backups {
		wrong := b.keyProblem(keys.Silent(ctx), r, err, true)
		if errors.Is(wrong, keys.ErrNoKey) || errors.Is(wrong, keys.ErrNotFound) {
			result.Backups, result.KeyMissing, result.Opening = b.Pool(), advised(wrong), b.openers(r)
			p.Warn(wrong.Error())
			return
		}
	}
	if err == nil && backups {
		result.Key, result.Backups = b.place(r), b.Pool()
		p.Log("the key in " + result.Key.Where + " is kept, since the backups in " + b.Pool() + " need it")
		return
	}
	if err == nil {
		result.Key = b.place(r)
		if !remove {
			p.Log("the key in " + result.Key.Where + " is kept for backups that are elsewhere")
			return
		}
		if err = b.removeKey(keys.Silent(ctx)); err == nil {
			result.Key = nil
			return
		}
	}
	p.Warn("the key is not removed: " + err.Error())
}

// KeyPlace says where the identity of a box is.
type KeyPlace struct {
	Store     string `json:"store"`
	Where     string `json:"where"` // for people
	Recipient string `json:"recipient"`
}

// place returns where the identity of a record is.
func (b *Box) place(r *keys.Record) *KeyPlace {
	where := "the key store " + r.Store
	if s, err := keys.Open(b.Home, r.Store); err == nil {
		where = s.Where(r.Ref())
	}
	return &KeyPlace{Store: r.Store, Where: where, Recipient: r.Recipient}
}

// hasPool reports whether the directory of the box's backups holds anything. It returns true if that cannot be known.
func (b *Box) hasPool() bool {
	entries, err := os.ReadDir(b.Pool())
	if errors.Is(err, os.ErrNotExist) {
		return store.Reachable(b.Pool()) != nil
	}
	return len(entries) > 0 || err != nil
}
