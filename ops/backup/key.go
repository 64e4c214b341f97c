package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"hermes-box/guest/protocol"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

const (
	keyFile        = "pool.key.age"
	passphraseFile = "pool.passphrase.age"
	keyLimit       = 1 << 20
)

// Pool is an open pool, whose key has been decrypted.
type Pool struct {
	// Repaired says, in words for the user, what was wrong with recipients.json.
	Repaired []string

	disk       disk
	secrets    *secrets
	recipients []Recipient
	now        func() time.Time
}

// keyText is the plaintext of the key files. The file that is encrypted to the recipients lists them too, so that nobody
// can add a recipient by changing recipients.json.
type keyText struct {
	Format     int         `json:"format"`
	Identity   string      `json:"identity"`
	Recipients []Recipient `json:"recipients,omitempty"`
}

// Create makes a pool in dir, which is created if needed, with a new random key for recipients. If dir has a key
// already, the error wraps fs.ErrExist and nothing is changed.
func Create(ctx context.Context, dir string, recipients []Recipient) (*Pool, error) {
	for _, name := range []string{keyFile, passphraseFile} {
		if _, err := os.Lstat(dir + "/" + name); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("make a key for the backups in %s: there is a %s: %w", dir, name, errors.Join(fs.ErrExist, err))
		}
	}
	if err := store.Reachable(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	p, err := open(dir, identity)
	if err != nil {
		return nil, err
	}
	return p, p.Rewrite(ctx, recipients)
}

func open(dir string, identity *age.X25519Identity) (*Pool, error) {
	s, err := deriveSecrets(identity)
	if err != nil {
		return nil, err
	}
	return &Pool{disk: disk{dir: dir}, secrets: s, now: time.Now}, nil
}

// ErrOtherRecipients means that no given identity opens the key of a pool.
var ErrOtherRecipients = errors.New("is for other recipients")

// Open opens the pool in dir with the first identity that fits its key file. If none does, the error wraps
// ErrOtherRecipients and names the recipients that the key is for.
func Open(dir string, identities ...age.Identity) (*Pool, error) {
	if len(identities) == 0 {
		return nil, fmt.Errorf("open the backups in %s: no identity was given", dir)
	}
	text, err := readKey(dir, keyFile, identities...)
	if noMatch := (*age.NoIdentityMatchError)(nil); errors.As(err, &noMatch) {
		if list, err := ReadRecipients(dir); err == nil && slices.ContainsFunc(list, func(r Recipient) bool { return belongs(r, identities) }) {
			return nil, fault.New(fault.IntegrityFailed, "%s/%s is damaged: this identity belongs to one of its recipients, but does not open it", dir, keyFile).
				Hint("put it back from a copy of that directory")
		}
		return nil, fault.New(fault.IntegrityFailed, "the key of the backups in %s %w: %s", dir, ErrOtherRecipients, names(dir)).
			Hint("give the identity of one of them with --identity FILE")
	}
	if err != nil {
		return nil, err
	}
	p, err := text.open(dir)
	if err != nil {
		return nil, err
	}
	p.recipients = text.Recipients
	p.repairRecipients()
	return p, nil
}

// CheckKey returns an error if the key file of the pool in dir is missing or damaged, or if none of the identities opens
// it. It changes nothing.
func CheckKey(dir string, identities ...age.Identity) error {
	_, err := readKey(dir, keyFile, identities...)
	if noMatch := (*age.NoIdentityMatchError)(nil); errors.As(err, &noMatch) {
		return fmt.Errorf("the key of this box does not open %s/%s", dir, keyFile)
	}
	return err
}

// belongs reports whether one of the identities belongs to a recipient.
func belongs(r Recipient, identities []age.Identity) bool {
	return slices.ContainsFunc(identities, func(i age.Identity) bool {
		x, ok := i.(*age.X25519Identity)
		return ok && x.Recipient().String() == r.Recipient
	})
}

// OpenWithPassphrase opens the pool in dir with its passphrase.
func OpenWithPassphrase(dir, passphrase string) (*Pool, error) {
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, err
	}
	text, err := readKey(dir, passphraseFile, identity)
	if noMatch := (*age.NoIdentityMatchError)(nil); errors.As(err, &noMatch) {
		return nil, fault.New(fault.IntegrityFailed, "the passphrase does not open %s/%s: it is wrong, or the file is damaged", dir, passphraseFile).
			Hint("try again with the passphrase that key add-passphrase was given")
	}
	if err != nil {
		return nil, err
	}
	p, err := text.open(dir)
	if err != nil {
		return nil, err
	}
	// Without a valid list the pool can be read, but no recipient can be added.
	if list, err := readRecipients(dir); err == nil && p.secrets.authentic(list) {
		p.recipients = list.Recipients
	} else {
		p.Repaired = append(p.Repaired, fmt.Sprintf("%s is missing or damaged, and was not used", recipientsFile))
	}
	return p, nil
}

func readKey(dir, name string, identities ...age.Identity) (*keyText, error) {
	d := disk{dir: dir}
	data, err := d.readFile(name, keyLimit)
	if errors.Is(err, fs.ErrNotExist) {
		if away := store.Reachable(dir); away != nil {
			return nil, away
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of the backups: %w", err)
	}
	in := bytes.NewReader(data)
	r, err := age.Decrypt(in, identities...)
	if noMatch := (*age.NoIdentityMatchError)(nil); errors.As(err, &noMatch) {
		return nil, err
	}
	var plain []byte
	if err == nil {
		plain, err = io.ReadAll(r)
	}
	if err != nil {
		return nil, fault.New(fault.IntegrityFailed, "%s is damaged: %w", d.path(name), err).Hint("put it back from a copy of that directory")
	}
	text := &keyText{}
	if err := protocol.Decode(plain, text); err != nil {
		return nil, fmt.Errorf("%s does not hold a key of backups", d.path(name)) // err could quote the secret
	}
	if text.Format != 1 {
		return nil, fmt.Errorf("%s has format %d; this program reads format 1", d.path(name), text.Format)
	}
	return text, nil
}

func (k *keyText) open(dir string) (*Pool, error) {
	identity, err := age.ParseX25519Identity(k.Identity)
	if err != nil {
		return nil, fmt.Errorf("the key of the backups in %s is invalid", dir)
	}
	return open(dir, identity)
}

// Rewrite encrypts the key to recipients, and to no others. A recipient that was removed can still open earlier copies
// of the files.
func (p *Pool) Rewrite(ctx context.Context, recipients []Recipient) error {
	to, err := parse(recipients)
	if err != nil {
		return err
	}
	data, err := p.encryptKey(keyText{1, p.secrets.identity.String(), recipients}, to...)
	if err != nil {
		return err
	}
	if err := p.disk.writeFile(ctx, keyFile, data); err != nil {
		return fmt.Errorf("write the key of the backups: %w", err)
	}
	p.recipients = recipients
	return p.writeRecipients(ctx)
}

// AddPassphrase encrypts the key with a passphrase too, which replaces an earlier passphrase. workFactor is that of
// age's scrypt; 0 is age's default, about a second.
func (p *Pool) AddPassphrase(ctx context.Context, passphrase string, workFactor int) error {
	to, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return err
	}
	if workFactor > 0 {
		to.SetWorkFactor(workFactor)
	}
	data, err := p.encryptKey(keyText{1, p.secrets.identity.String(), nil}, to)
	if err != nil {
		return err
	}
	if err := p.disk.writeFile(ctx, passphraseFile, data); err != nil {
		return fmt.Errorf("write the key of the backups: %w", err)
	}
	return nil
}

// RemovePassphrase removes the passphrase of the pool. It is no error if the pool has none.
func (p *Pool) RemovePassphrase() error {
	if err := errors.Join(p.disk.remove(passphraseFile), p.disk.syncDirs()); err != nil {
		return fmt.Errorf("remove the passphrase of the backups: %w", err)
	}
	return nil
}

func (p *Pool) encryptKey(text keyText, to ...age.Recipient) ([]byte, error) {
	plain, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to...)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// names lists the recipients of a pool for an error.
func names(dir string) string {
	list, err := readRecipients(dir)
	if err != nil || len(list.Recipients) == 0 {
		return "their list is missing"
	}
	var all []string
	for _, r := range list.Recipients {
		all = append(all, strings.TrimSpace(r.Recipient+" "+r.Name))
	}
	return strings.Join(all, ", ")
}
