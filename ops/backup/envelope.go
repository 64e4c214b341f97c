package backup

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// Envelope describes a backup. It is the plaintext file beside the bundle, and can be read without a key.
type Envelope struct {
	Format     int       `json:"format"`
	ID         string    `json:"id"`                 // <time> or <time>-<label>: the name of the bundle without .age
	Number     int64     `json:"number,omitempty"`   // greater than those of all backups in the pool when it was made or imported; 0: an earlier version made it
	Imported   bool      `json:"imported,omitempty"` // it was made elsewhere
	Time       time.Time `json:"time"`
	Box        string    `json:"box"`
	Disk       string    `json:"disk,omitempty"` // UUID of the file system of the data disk, which each box formats once
	Label      string    `json:"label,omitempty"`
	Arch       string    `json:"arch"`       // GOARCH of the guest
	Size       int64     `json:"size"`       // of the bundle, in bytes
	Digest     string    `json:"digest"`     // sha256 of the bundle in hex
	Recipients []string  `json:"recipients"` // of the pool's key when the backup was made
	Entries    int       `json:"entries"`
	Bytes      int64     `json:"bytes"`    // of data in files
	Problems   int       `json:"problems"` // files that could not be read; the backup is partial if there are any
	Added      int64     `json:"added"`    // bytes that the backup added on disk, of chunks and bundle
	Chunks     int       `json:"chunks"`
	ReadBack   int       `json:"read_back"`   // chunks read back before the backup was listed; the others were read back by earlier backups
	OldestRead time.Time `json:"oldest_read"` // each chunk was read then or later, by a backup or by Verify
	Verified   time.Time `json:"verified"`    // when it was last found good: by the backup itself or by Verify
	Failed     string    `json:"failed,omitempty"`
	MAC        string    `json:"mac"`
	Sum        string    `json:"sum,omitempty"` // sha256 in hex of the file without this line: damage is found without the key

	// Damaged says why the envelope or the bundle cannot be used. If it is not empty, only ID, Time and Repairable
	// are set too.
	Damaged string `json:"-"`
	// Repairable reports whether only the envelope is damaged or missing. Verify then writes it again from the bundle.
	Repairable bool `json:"-"`
}

// Good reports whether the backup was good when it was last checked.
func (e *Envelope) Good() bool { return e.Damaged == "" && e.Failed == "" && !e.Verified.IsZero() }

// Partial reports whether the backup lacks files that could not be read.
func (e *Envelope) Partial() bool { return e.Problems > 0 }

const (
	timeFormat    = "20060102T150405Z"
	envelopeLimit = 1 << 20
)

// idForm also accepts a dash without a label, which earlier versions wrote.
var idForm = regexp.MustCompile(`^(\d{8}T\d{6}Z)(?:-([a-z0-9-]{0,32}))?$`)

// newID returns the id of a new backup. The label may be empty.
func newID(at time.Time, label string) string {
	if label == "" {
		return at.Format(timeFormat)
	}
	return at.Format(timeFormat) + "-" + label
}

// ParseID returns the time and the label of a backup with this id.
func ParseID(id string) (at time.Time, label string, err error) {
	m := idForm.FindStringSubmatch(id)
	if m == nil {
		return at, "", fmt.Errorf("%q is not the id of a backup", id)
	}
	at, err = time.Parse(timeFormat, m[1])
	return at, m[2], err
}

func bundleName(id string) string   { return id + ".age" }
func envelopeName(id string) string { return id + ".json" }

// changingName returns the name that an envelope has while its backup is being listed or deleted. A bundle that has
// this file, but no envelope, is not listed. A bundle that has neither is listed as damaged.
func changingName(id string) string { return "tmp/" + envelopeName(id) }

// List returns the backups in the pool in dir, oldest first: see sorted. It needs no key. A backup with a damaged
// envelope, or with none, is in the list too, with Damaged set. A directory that does not exist has none; one that cannot
// be reached, because it is on a disk that is not mounted, is an error.
func List(dir string) ([]Envelope, error) { return listAt(dir, time.Now()) }

func (p *Pool) listed() ([]Envelope, error) { return listAt(p.disk.dir, p.now()) }

// listAt is List, with now instead of the time of the clock.
func listAt(dir string, now time.Time) ([]Envelope, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, store.Reachable(dir)
	} else if errors.Is(err, syscall.ENOTDIR) {
		return nil, fault.New(fault.PreflightFailed, "%s should be the directory of the backups, but is not a directory", dir).
			Hint("move it away, or put the directory back from a copy: ls -l %s", shellescape.Quote(dir))
	} else if err != nil {
		return nil, err
	}
	var list []Envelope
	for _, id := range ids(entries) {
		env, err := look(dir, id)
		if err != nil {
			env = unusable(id, err)
		}
		if env != nil {
			list = append(list, *env)
		}
	}
	return sorted(list, now), nil
}

// ids returns the ids of the bundles and envelopes in the directory of a pool.
func ids(entries []os.DirEntry) (all []string) {
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), bundleName(""))
		if !ok {
			id, ok = strings.CutSuffix(e.Name(), envelopeName(""))
		}
		if _, _, err := ParseID(id); ok && err == nil && !slices.Contains(all[max(0, len(all)-1):], id) {
			all = append(all, id)
		}
	}
	return all
}

// look returns the envelope of a backup, with Damaged set if it cannot be used; nil if no such backup is listed. It
// returns an error if the bundle cannot be looked at.
func look(dir, id string) (*Envelope, error) {
	d := disk{dir: dir}
	changing := d.has(changingName(id)) // first: while the envelope is read, the backup may get listed
	env, err := readEnvelope(dir, id)
	unlisted := errors.Is(err, fs.ErrNotExist)
	info, bundleErr := os.Lstat(d.path(bundleName(id)))
	switch {
	case errors.Is(bundleErr, fs.ErrNotExist):
		if unlisted {
			return nil, nil
		}
		return unusable(id, fmt.Errorf("%s is missing", bundleName(id))), nil
	case bundleErr != nil:
		return nil, bundleErr
	case unlisted && (changing || d.has(changingName(id))):
		return nil, nil
	case unlisted:
		err = fmt.Errorf("%s is missing", envelopeName(id))
	}
	if err != nil {
		env = unusable(id, err)
		env.Repairable = true
		return env, nil
	}
	if !info.Mode().IsRegular() || info.Size() != env.Size {
		return unusable(id, fmt.Errorf("%s is damaged: its size is %d instead of %d", bundleName(id), info.Size(), env.Size)), nil
	}
	return env, nil
}

// unusable returns the envelope for a backup whose own envelope, or whose bundle, cannot be used.
func unusable(id string, err error) *Envelope {
	at, _, _ := ParseID(id)
	return &Envelope{ID: id, Time: at, Damaged: err.Error()}
}

// readEnvelope reads an envelope and compares it with its name.
func readEnvelope(dir, id string) (*Envelope, error) {
	d := disk{dir: dir}
	data, err := d.readFile(envelopeName(id), envelopeLimit)
	if err != nil {
		return nil, err
	}
	e, err := parseEnvelope(data)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", envelopeName(id), err)
	}
	if e.ID != id {
		return nil, fmt.Errorf("%s describes the backup %s", envelopeName(id), e.ID)
	}
	return e, nil
}

// parseEnvelope accepts an envelope only if it is encoded as this program encodes it, so that any changed byte is
// noticed.
func parseEnvelope(data []byte) (*Envelope, error) {
	e := &Envelope{}
	if err := protocol.Decode(data, e); err != nil {
		return nil, err
	}
	if e.Format != 1 {
		return nil, fmt.Errorf("it has format %d; this program reads format 1", e.Format)
	}
	at, label, err := ParseID(e.ID)
	if err != nil {
		return nil, err
	}
	if !at.Equal(e.Time) || label != e.Label {
		return nil, errors.New("its time and label differ from its id")
	}
	if string(e.encode()) != string(data) {
		return nil, errors.New("it is not written as this program writes it")
	}
	if e.Sum != "" && e.Sum != e.sum() { // earlier versions wrote none
		return nil, errors.New("it was changed: its sum is wrong")
	}
	return e, nil
}

func (e *Envelope) encode() []byte {
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return nil // JSON cannot encode a time after the year 9999, so no file equals it
	}
	return append(data, '\n')
}

// sum returns the right value of Sum.
func (e *Envelope) sum() string {
	without := *e
	without.Sum = ""
	sum := sha256.Sum256(without.encode())
	return hex.EncodeToString(sum[:])
}

func (s *secrets) seal(e *Envelope) {
	e.MAC, e.Sum = "", ""
	e.MAC = hex.EncodeToString(s.mac("envelope", e.encode()))
	e.Sum = e.sum()
}

// checkSeal returns an error if somebody without the pool's key made or changed the envelope.
func (s *secrets) checkSeal(e *Envelope) error {
	want := *e
	s.seal(&want)
	if !hmac.Equal([]byte(e.MAC), []byte(want.MAC)) {
		return fmt.Errorf("%s was changed, or was not made with the key of these backups", envelopeName(e.ID))
	}
	return nil
}

// record returns the envelope of a listed backup. If the stored envelope is damaged, missing, or was made or changed
// without the key, only ID, Time, Damaged and Repairable are set. If the bundle is missing or has a wrong size, record
// returns an error.
func (p *Pool) record(id string) (*Envelope, error) {
	if _, _, err := ParseID(id); err != nil {
		return nil, noSuch(id)
	}
	e, err := look(p.disk.dir, id)
	switch {
	case err != nil:
		return nil, err
	case e == nil:
		return nil, noSuch(id)
	case e.Damaged != "" && !e.Repairable:
		return nil, damaged(id, errors.New(e.Damaged))
	case e.Damaged == "":
		if err := p.secrets.checkSeal(e); err != nil {
			e = unusable(id, err)
			e.Repairable = true
		}
	}
	return e, nil
}

func (p *Pool) writeEnvelope(ctx context.Context, e *Envelope) error {
	p.secrets.seal(e)
	return p.disk.writeFile(ctx, envelopeName(e.ID), e.encode())
}

// list lists a backup whose bundle is in the file t: it gives the bundle and then the envelope their names. After a
// crash in between, the envelope in tmp/ says that the bundle is not listed.
func (p *Pool) list(ctx context.Context, e *Envelope, t *temp) error {
	p.secrets.seal(e)
	if err := p.disk.writeFile(ctx, changingName(e.ID), e.encode()); err != nil {
		t.discard()
		return err
	}
	if err := t.commit(bundleName(e.ID)); err != nil {
		return err
	}
	if err := p.disk.syncDirs(); err != nil {
		return err
	}
	if err := p.disk.rename(changingName(e.ID), envelopeName(e.ID)); err != nil {
		return err
	}
	return p.disk.syncDirs()
}

// unlist deletes a backup: it moves the envelope to tmp/, and then removes the bundle. After a crash in between, the
// envelope in tmp/ says that the bundle is not listed.
func (p *Pool) unlist(id string) error {
	if err := p.hide(id); err != nil {
		return err
	}
	if err := p.disk.syncDirs(); err != nil {
		return err
	}
	if err := p.disk.remove(bundleName(id)); err != nil {
		return err
	}
	if err := p.disk.syncDirs(); err != nil {
		return err
	}
	return p.disk.remove(changingName(id))
}

// hide moves the envelope of a backup to tmp/.
func (p *Pool) hide(id string) error {
	if !p.disk.has(envelopeName(id)) {
		return nil
	}
	if err := p.disk.mkdir("tmp"); err != nil {
		return err
	}
	return p.disk.rename(envelopeName(id), changingName(id))
}
