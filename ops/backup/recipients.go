package backup

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"slices"
	"time"

	"filippo.io/age"

	"hermes-box/guest/protocol"
	"hermes-box/ops/fault"
)

const recipientsFile = "recipients.json"

// Recipient is an age recipient that the key of a pool is encrypted to.
type Recipient struct {
	Recipient string    `json:"recipient"` // age1...
	Name      string    `json:"name"`      // for people; may be empty
	Since     time.Time `json:"since"`     // when it was added
	Proven    bool      `json:"proven"`    // its identity was checked once
}

// recipientList is recipients.json. Its MAC can be checked only with the key of the pool.
type recipientList struct {
	Format     int         `json:"format"`
	Recipients []Recipient `json:"recipients"`
	MAC        string      `json:"mac"`
}

// Recipients returns the recipients that the key of the open pool is encrypted to.
func (p *Pool) Recipients() []Recipient { return slices.Clone(p.recipients) }

// ReadRecipients returns the recipients of the pool in dir. It needs no key, so it does not notice if somebody changed
// the list; Open does.
func ReadRecipients(dir string) ([]Recipient, error) {
	list, err := readRecipients(dir)
	if err != nil {
		return nil, err
	}
	return list.Recipients, nil
}

func readRecipients(dir string) (*recipientList, error) {
	d := disk{dir: dir}
	data, err := d.readFile(recipientsFile, keyLimit)
	if err != nil {
		return nil, err
	}
	list := &recipientList{}
	if err := protocol.Decode(data, list); err != nil {
		return nil, fmt.Errorf("%s: %w", d.path(recipientsFile), err)
	}
	if list.Format != 1 {
		return nil, fmt.Errorf("%s has format %d; this program reads format 1", d.path(recipientsFile), list.Format)
	}
	return list, nil
}

// parse returns the recipients for age: at least one, each an X25519 recipient, none twice.
func parse(list []Recipient) (out []age.Recipient, err error) {
	for i, r := range list {
		to, err := age.ParseX25519Recipient(r.Recipient)
		if err != nil {
			return nil, fault.New(fault.InvalidInput, "%q is not an age recipient", r.Recipient).
				Hint("give one that begins with age1, as age-keygen prints it")
		}
		if slices.ContainsFunc(list[:i], func(o Recipient) bool { return o.Recipient == r.Recipient }) {
			return nil, fault.New(fault.InvalidInput, "the recipient %s is given twice", r.Recipient)
		}
		out = append(out, to)
	}
	if len(out) == 0 {
		return nil, errors.New("backups need a recipient")
	}
	return out, nil
}

func (p *Pool) writeRecipients(ctx context.Context) error {
	data, err := p.recipientList()
	if err != nil {
		return err
	}
	return p.disk.writeFile(ctx, recipientsFile, data)
}

func (p *Pool) recipientList() ([]byte, error) {
	list := recipientList{Format: 1, Recipients: p.recipients}
	list.MAC = p.secrets.macOf(&list)
	data, err := json.MarshalIndent(list, "", "  ")
	return append(data, '\n'), err
}

// repairRecipients writes recipients.json again if it is not what the key file says.
func (p *Pool) repairRecipients() {
	want, err := p.recipientList()
	if err != nil {
		return
	}
	if have, err := p.disk.readFile(recipientsFile, keyLimit); err == nil && string(have) == string(want) {
		return
	}
	note := recipientsFile + " differed from the key file, and was written again"
	if err := p.writeRecipients(context.Background()); err != nil {
		note = fmt.Sprintf("%s differs from the key file, and cannot be written: %v", recipientsFile, err)
	}
	p.Repaired = append(p.Repaired, note)
}

func (s *secrets) macOf(list *recipientList) string {
	data, _ := json.Marshal(list.Recipients) // cannot fail for strings, times and bools
	return hex.EncodeToString(s.mac("recipients", data))
}

func (s *secrets) authentic(list *recipientList) bool {
	return hmac.Equal([]byte(list.MAC), []byte(s.macOf(list)))
}
