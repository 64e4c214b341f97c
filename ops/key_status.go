package ops

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

// KeyStatus describes the key of a box. It holds no secret.
type KeyStatus struct {
	KeyPlace
	Created time.Time `json:"created"`
	// Readable reports whether the identity was read from its store. Problem says why not, or why it opens no backup
	// here, and Repair what to do.
	Readable bool   `json:"readable"`
	Problem  string `json:"problem,omitempty"`
	Repair   string `json:"repair,omitempty"`
	missing  bool   // the store can be read and does not have the identity
	// Plain reports whether the identity is in a file that no password protects.
	Plain    bool       `json:"plain"`
	Exported *time.Time `json:"exported,omitempty"` // when the identity was last exported
	// Others are the recipients that can open the backups besides the box's own, and Passphrase reports whether a
	// passphrase can.
	Others     []backup.Recipient `json:"others"`
	Passphrase bool               `json:"passphrase"`
	// Warnings list the risks to the key and to the backups, each with its repair.
	Warnings []Advised `json:"warnings"`
}

// Advised is a warning and what to do about it, if possible a command.
type Advised struct {
	Warning string `json:"warning"`
	Repair  string `json:"repair"`
}

// KeyStatus reads the identity and returns what is known about it. If silently is true, a locked keyring does not ask
// the user for its password.
func (b *Box) KeyStatus(ctx context.Context, silently bool) (*KeyStatus, error) {
	r, err := keys.Read(b.Home, b.Name())
	if errors.Is(err, keys.ErrNoKey) {
		err = b.noKey(err)
	}
	if err != nil {
		return nil, err
	}
	s := &KeyStatus{KeyPlace: *b.place(r), Created: r.Created, Plain: r.Store == keys.File, Exported: r.Exported, Warnings: []Advised{}}
	if silently {
		ctx = keys.Silent(ctx)
	}
	identity, err := b.identity(ctx, r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.Problem, s.Repair = err.Error(), fault.HintOf(err)
		s.missing = errors.Is(err, keys.ErrNotFound)
		s.Plain = s.Plain && !s.missing
	} else {
		s.Readable = true
	}
	s.Passphrase, s.Others = b.hasPassphrase(), []backup.Recipient{}
	if backups, _ := b.Backups(); s.Readable && len(backups) > 0 {
		if err := backup.CheckKey(b.Pool(), identity); err != nil {
			s.warn("the backups cannot be opened: "+err.Error(), b.poolKeyHint())
		}
	}
	own := false
	list, err := backup.ReadRecipients(b.Pool())
	for _, to := range list {
		if to.Recipient == r.Recipient {
			own = true
		} else {
			s.Others = append(s.Others, to)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // no backup yet
	case err != nil:
		s.warn("the list of recipients cannot be read: "+err.Error(), "to write it again: hermes-box key add-recipient AGE_RECIPIENT")
	case !own:
		if s.Readable {
			s.Problem = "the key of this box does not open the backups in " + b.Pool()
			s.Repair = fault.HintOf(b.otherKey(backup.ErrOtherRecipients))
		}
	}
	s.advise()
	return s, nil
}

func (s *KeyStatus) warn(warning, repair string) {
	s.Warnings = append(s.Warnings, Advised{warning, repair})
}

// advise adds warnings: for recipients that are not proven, if only this machine can open the backups or exported
// files, and for a plain file.
func (s *KeyStatus) advise() {
	elsewhere := s.Exported != nil
	for _, r := range s.Others {
		elsewhere = elsewhere || r.Proven
		if !r.Proven {
			s.warn("the identity of recipient "+strings.TrimSpace(r.Name+" "+r.Recipient)+" was never checked: if nobody has it, the recipient is useless",
				"hermes-box key add-recipient "+r.Recipient+" --identity FILE")
		}
	}
	const export = "to keep a copy elsewhere: hermes-box key export FILE"
	switch {
	case elsewhere || s.missing:
	case s.Passphrase:
		s.warn("only this machine has the key: if it is lost, the passphrase opens copies of the backups, but no exported file", export)
	default:
		s.warn("only this machine can open the backups: if it is lost, so are they", export)
	}
	if s.Plain {
		s.warn("the key is in a plain file: whoever can read this disk can read the backups",
			"encrypt the disk of this machine; a box that is created in a desktop session with a keyring keeps its key there")
	}
}

// checkKey fails if the key cannot be read, and else warns of the first risk to it. It never asks for the password of a
// keyring.
func (b *Box) checkKey(ctx context.Context) Check {
	s, err := b.KeyStatus(ctx, true)
	switch {
	case errors.Is(err, keys.ErrNoKey) && !b.hasPool():
		return warn(err.Error(), fault.HintOf(err))
	case err != nil:
		return failed(err)
	case s.Problem != "":
		return fail(s.Problem, s.Repair)
	case len(s.Warnings) > 0:
		return warn(s.Where+"; "+s.Warnings[0].Warning, s.Warnings[0].Repair)
	}
	return pass(s.Where)
}
