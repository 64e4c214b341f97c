package keys

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// Record says where the identity of a box is. It holds no secret, and outlives the box while there are backups that
// need the identity. The list of the other recipients is in the pool of the backups, and authenticated with the pool's
// key.
type Record struct {
	Schema    int       `json:"schema"`
	Box       string    `json:"box"`
	Store     string    `json:"store"`     // the name of the store that has the identity
	Recipient string    `json:"recipient"` // that belongs to the identity
	Created   time.Time `json:"created"`
	// Exported is the time at which the identity was last exported; nil: never.
	Exported *time.Time `json:"exported,omitempty"`
}

// schema is the schema of the records that this version writes.
const schema = 1

// ErrNoKey means that a box has no key.
var ErrNoKey = errors.New("there is no key")

// errSchema means that another version of the program wrote a record.
var errSchema = errors.New("it has schema")

// dir returns the directory of the records, and of the identities in files.
func dir(home store.Home) string { return filepath.Join(string(home), "keys") }

func recordPath(home store.Home, box string) string { return filepath.Join(dir(home), box+".json") }

// recordLimit is far more than a record needs, in bytes.
const recordLimit = 1 << 20

// Read reads the record of the key of a box. The error is ErrNoKey if there is none.
func Read(home store.Home, box string) (*Record, error) {
	path := recordPath(home, box)
	data, err := store.ReadFile(path, recordLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoKey
	}
	if err != nil {
		return nil, fault.New(fault.IntegrityFailed, "the record of a key cannot be read: %w", err).Hint("to see why it cannot be read: ls -l %s", shellescape.Quote(path))
	}
	r, err := parse(data, box)
	if errors.Is(err, errSchema) {
		return nil, fault.New(fault.IntegrityFailed, "%s, the record of a key, cannot be read: %w", path, err).
			Hint("use the version of hermes-box that wrote it")
	}
	if err != nil { // the identity itself is not in the record, and can be found without it
		return nil, fault.New(fault.IntegrityFailed, "%s, the record of a key, is damaged: %w", path, err).
			Hint("mv %s %s; then, to find the identity: hermes-box key make", shellescape.Quote(path), shellescape.Quote(path+".damaged"))
	}
	return r, nil
}

// parse decodes a record and checks it.
func parse(data []byte, box string) (*Record, error) {
	var r Record
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return nil, err
	}
	if r.Schema != schema {
		return nil, fmt.Errorf("%w %d, this hermes-box reads schema %d", errSchema, r.Schema, schema)
	}
	if r.Box != box {
		return nil, fmt.Errorf("it is of box %q", r.Box)
	}
	if _, err := ParseRecipient(r.Recipient); err != nil {
		return nil, err
	}
	return &r, nil
}

// Save writes a record.
func (r *Record) Save(home store.Home) error {
	r.Schema = schema
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir(home), 0o700); err != nil {
		return err
	}
	sweep(home, r.Box)
	return store.WriteFile(recordPath(home, r.Box), append(data, '\n'), 0o600)
}

// Remove removes the record of a box. It is no error if there is none.
func Remove(home store.Home, box string) error {
	sweep(home, box)
	if err := os.Remove(recordPath(home, box)); err == nil {
		return store.SyncDir(dir(home))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sweep removes the files that a killed Save has left beside the record of a box. The caller holds the box's lock.
func sweep(home store.Home, box string) {
	entries, _ := os.ReadDir(dir(home))
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), "."+box+".json-")
		if _, err := strconv.ParseUint(number, 10, 64); ours && err == nil && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir(home), e.Name())) // a leftover file does no harm
		}
	}
}

// Ref returns the name of the identity.
func (r *Record) Ref() Ref { return Ref{r.Box, r.Recipient} }
