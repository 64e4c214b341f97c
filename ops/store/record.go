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

// Schema is the schema of the files that this program writes. Files with a later one are refused.
const Schema = 1

// WrittenBy is the version of this program to write into records and journals. The program sets it once, at its start.
var WrittenBy = "dev"

// written is part of every file and names its schema and the version that wrote it.
type written struct {
	Schema    int    `json:"schema"`
	WrittenBy string `json:"written_by,omitempty"` // version of the program; empty in files of the first versions
}

// Record describes one box on this host: the exact names of its Lima VM and disk, and the config directory it belongs
// to. VMs and disks that no record names are never changed.
type Record struct {
	written
	Name      string    `json:"name"`
	ConfigDir string    `json:"config_dir"`
	Instance  string    `json:"instance"`
	Disk      string    `json:"disk"`
	DataUUID  string    `json:"data_uuid,omitempty"` // empty until the guest has formatted the disk
	Machine   Machine   `json:"machine"`             // the VM as it was created; the config may have changed since
	Created   time.Time `json:"created"`
	Ready     bool      `json:"ready"` // create has finished
}

// Machine holds the size and the ports of a VM when it was created. Sizes are in bytes.
type Machine struct {
	CPUs      int   `json:"cpus"`
	Memory    int64 `json:"memory"`
	RootDisk  int64 `json:"root_disk"`
	DataDisk  int64 `json:"data_disk"`
	Executor  int   `json:"executor"`  // port
	Dashboard int   `json:"dashboard"` // port
}

// Record reads the record of a box. The error is ErrNoBox if there is none.
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
			Hint("put a good copy back; if you remove it instead, its VM and data disk stay without a record: to see them: LIMA_HOME=%s limactl list",
				shellescape.Quote(h.Lima()))
	}
	if r.Schema != Schema || r.Name != box {
		return nil, fault.New(fault.IntegrityFailed, "host record %s is not the record of box %q in schema %d", h.record(box), box, Schema).
			Hint("it was copied or damaged: put the right file back")
	}
	return &r, nil
}

// ConfigDirs returns the config directories of all boxes on this host, in no order. Records that cannot be read are
// skipped.
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

// ErrNoBox means that this host has no record of a box of that name.
var ErrNoBox = errors.New("no such box")

// SaveRecord writes the record of a box.
func (h Home) SaveRecord(r *Record) error {
	r.written = written{Schema, WrittenBy}
	return writeJSON(h.record(r.Name), r)
}

// RemoveRecord removes the record of a box, its last status, and the result of its last scheduled backup.
func (h Home) RemoveRecord(box string) error {
	return errors.Join(remove(h.seen(box)), remove(h.scheduled(box)), remove(h.record(box)))
}

// Journal is the durable record of an operation in progress. Made lists, in order, the things that the operation has
// created or is about to create; recovery removes exactly these.
type Journal struct {
	written
	Operation string    `json:"operation"`
	Started   time.Time `json:"started"`
	Step      string    `json:"step"`
	Made      []string  `json:"made,omitempty"`
}

// Journal reads the journal of a box; nil if no operation is in progress or was interrupted.
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
			Hint("put a good copy back, or move it away: mv %s %s; to see what is there: hermes-box status",
				shellescape.Quote(h.journal(box)), shellescape.Quote(h.journal(box)+".damaged"))
	}
	return &j, nil
}

// SaveJournal writes the journal of a box.
func (h Home) SaveJournal(box string, j *Journal) error {
	j.written = written{Schema, WrittenBy}
	return writeJSON(h.journal(box), j)
}

// RemoveJournal removes the journal of a box, which ends the operation.
func (h Home) RemoveJournal(box string) error { return remove(h.journal(box)) }

// SaveSeen keeps the last status of a box, for when the box cannot be asked. It may be lost.
func (h Home) SaveSeen(box string, v any) error { return writeJSON(h.seen(box), v) }

// Seen reads the last status. The error is fs.ErrNotExist if there is none.
func (h Home) Seen(box string, v any) error { return readJSON(h.seen(box), v) }

// SaveScheduled keeps the result of the last scheduled backup of a box.
func (h Home) SaveScheduled(box string, v any) error { return writeJSON(h.scheduled(box), v) }

// Scheduled reads the result of the last scheduled backup. The error is fs.ErrNotExist if there is none.
func (h Home) Scheduled(box string, v any) error { return readJSON(h.scheduled(box), v) }

// RemoveScheduled removes the result of the last scheduled backup.
func (h Home) RemoveScheduled(box string) error { return remove(h.scheduled(box)) }

// recordLimit is far more than any of these files needs.
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

// fromNewer returns the error for a file that another version of this program wrote and this one cannot read; nil for
// any other file. decodeErr is the error of decoding the file; it may be nil.
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
