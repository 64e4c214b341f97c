package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/ops/fault"
)

// Schema is that of the files this program writes. A file of a later one is refused.
const Schema = 1

// WrittenBy is the version of this program, as it is put into records and journals. The program sets it once, before
// anything else.
var WrittenBy = "dev"

// written says what wrote a file; it is part of each.
type written struct {
	Schema    int    `json:"schema"`
	WrittenBy string `json:"written_by,omitempty"` // version of the program; empty in files of the first versions
}

// Record is what the host knows of one box: which Lima VM and disk are its own, by their exact names, and
// which config directory it belongs to. Nothing outside a record is ever touched.
type Record struct {
	written
	Name      string    `json:"name"`
	ConfigDir string    `json:"config_dir"`
	Instance  string    `json:"instance"`
	Disk      string    `json:"disk"`
	DataUUID  string    `json:"data_uuid,omitempty"` // empty until the guest has formatted the disk
	Machine   Machine   `json:"machine"`             // as it was made; the config may say otherwise since
	Created   time.Time `json:"created"`
	Ready     bool      `json:"ready"` // create came to its end
}

// Machine is what a VM was made with. Sizes are in bytes.
type Machine struct {
	CPUs      int   `json:"cpus"`
	Memory    int64 `json:"memory"`
	RootDisk  int64 `json:"root_disk"`
	DataDisk  int64 `json:"data_disk"`
	Executor  int   `json:"executor"`  // port
	Dashboard int   `json:"dashboard"` // port
}

// Record reads the record of a box; ErrNoBox if there is none.
func (h Home) Record(box string) (*Record, error) {
	var r Record
	if err := readJSON(h.record(box), &r); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNoBox
		}
		if fault.HintOf(err) != "" {
			return nil, err
		}
		return nil, fault.New(fault.IntegrityFailed, "%w", err).
			Hint("put a good copy back, and do not just remove it: its VM and its data would go on with nobody knowing of them; LIMA_HOME=%s limactl list shows them",
				shellescape.Quote(h.Lima()))
	}
	if r.Schema != Schema || r.Name != box {
		return nil, fault.New(fault.IntegrityFailed, "host record %s is not of box %q in schema %d", h.record(box), box, Schema).
			Hint("it was copied or damaged: put the right file back")
	}
	return &r, nil
}

// ConfigDirs are the config directories of all boxes that the host knows, in no order. A record that cannot be read has
// none.
func (h Home) ConfigDirs() (dirs []string) {
	entries, _ := os.ReadDir(filepath.Join(string(h), "boxes"))
	for _, e := range entries {
		if box, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			if r, err := h.Record(box); err == nil && !slices.Contains(dirs, r.ConfigDir) {
				dirs = append(dirs, r.ConfigDir)
			}
		}
	}
	return dirs
}

// ErrNoBox says that the host has no record of a box of that name.
var ErrNoBox = errors.New("no such box")

// SaveRecord writes the record of a box.
func (h Home) SaveRecord(r *Record) error {
	r.written = written{Schema, WrittenBy}
	return writeJSON(h.record(r.Name), r)
}

// RemoveRecord forgets a box.
func (h Home) RemoveRecord(box string) error {
	return errors.Join(remove(h.seen(box)), remove(h.record(box)))
}

// Journal is the durable trace of an operation under way. Made names, in order, what the operation is about to
// make or has made; recovery removes exactly these.
type Journal struct {
	written
	Operation string    `json:"operation"`
	Started   time.Time `json:"started"`
	Step      string    `json:"step"`
	Made      []string  `json:"made,omitempty"`
}

// Journal reads the journal of a box; nil if no operation is under way or was cut off.
func (h Home) Journal(box string) (*Journal, error) {
	var j Journal
	err := readJSON(h.journal(box), &j)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && j.Operation == "" { // "null" is JSON too
		err = fmt.Errorf("%s is damaged: it names no operation", h.journal(box))
	}
	if fault.HintOf(err) != "" {
		return nil, err
	}
	if err != nil {
		return nil, fault.New(fault.IntegrityFailed, "%w", err).
			Hint("put a good copy back, or move it away: mv %s %s; hermes-box status then shows what there is",
				shellescape.Quote(h.journal(box)), shellescape.Quote(h.journal(box)+".damaged"))
	}
	return &j, nil
}

// SaveJournal writes the journal of a box.
func (h Home) SaveJournal(box string, j *Journal) error {
	j.written = written{Schema, WrittenBy}
	return writeJSON(h.journal(box), j)
}

// RemoveJournal ends an operation.
func (h Home) RemoveJournal(box string) error { return remove(h.journal(box)) }

// SaveSeen keeps the last status seen of a box, for when it cannot be asked. Its loss is no harm.
func (h Home) SaveSeen(box string, v any) error { return writeJSON(h.seen(box), v) }

// Seen reads the last status seen; fs.ErrNotExist if there is none.
func (h Home) Seen(box string, v any) error { return readJSON(h.seen(box), v) }

// recordLimit is far more than anything that is kept here.
const recordLimit = 16 << 20

func readJSON(path string, v any) error {
	data, err := ReadFile(path, recordLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, errors.Unwrap(err))
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err = dec.Decode(v)
	if newer := fromNewer(path, data, err); newer != nil {
		return newer
	}
	if err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	return nil
}

// fromNewer returns the error for a file that a newer version of this program wrote, decoded with the error decodeErr; nil
// if the file is not one.
func fromNewer(path string, data []byte, decodeErr error) error {
	var w written
	if json.Unmarshal(data, &w) != nil {
		return nil
	}
	by, use := "another version of hermes-box", "a later version of hermes-box"
	if w.WrittenBy != "" {
		by = "hermes-box " + w.WrittenBy
		use = by + " or a later version"
	}
	switch {
	case w.Schema > Schema:
		return fault.New(fault.IntegrityFailed, "%s was written by %s in schema %d; this is hermes-box %s, which reads schema %d", path, by, w.Schema, WrittenBy, Schema).
			Hint("use %s", use)
	case decodeErr != nil && w.WrittenBy != "" && w.WrittenBy != WrittenBy:
		return fault.New(fault.IntegrityFailed, "%s was written by %s; this is hermes-box %s, which cannot read it: %w", path, by, WrittenBy, decodeErr).
			Hint("use %s", use)
	}
	return nil
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
