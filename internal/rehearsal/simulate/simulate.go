// Package simulate implements guest.Machine with a plain directory. It records units, images, disks and users in a
// file, so that the whole engine runs without privilege and without a VM. The record outlives the process, as the
// state of a real machine does; Reboot simulates a power cut.
//
// Programs below the directory are really run. journalctl prints the log of the units, and podman the version of an
// image. All other programs do nothing and succeed.
package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"hermes-box/guest"
	"hermes-box/guest/machine"
)

// Machine is one simulated machine. Its exported fields may be set before it is used.
type Machine struct {
	root string
	mu   sync.Mutex

	// Fail, if set, is called before each effect, with the name that Did has for it, and before some reads: "read
	// units", "read disk /dev/vdb", "read mount /data". If it returns an error, the effect or the read fails with it.
	Fail func(effect string) error
	// Programs has functions to call instead of programs, by base name, even for programs below the directory.
	Programs map[string]func(machine.Cmd) ([]byte, error)
	// Oneshot has the functions of oneshot units, which run and end. If the function returns an error, the unit has
	// failed.
	Oneshot map[string]func(context.Context) error
	// Crashes, if set, reports whether a unit ends as soon as it has been started.
	Crashes func(unit string) bool
	// Tools are the tools that Executor offers; nil: execute and resume.
	Tools []string
	// Full makes every disk appear almost full.
	Full bool
	// SnapshotFull makes every snapshot report that it is full.
	SnapshotFull bool

	did []string
}

var _ guest.Machine = (*Machine)(nil)

// state is the record of the machine.
type state struct {
	Units    map[string]unit   `json:"units"`
	Images   map[string]image  `json:"images"` // by tag
	Disks    map[string]disk   `json:"disks"`  // by device
	Mounts   map[string]string `json:"mounts"` // path in the guest -> UUID
	Packages map[string]string `json:"packages"`
	Users    map[string]int    `json:"users"`
	Mapped   string            `json:"mapped,omitempty"` // the device that MapData has mapped
	Held     []string          `json:"held,omitempty"`   // "freeze /data" or "snapshot /data", until it ends
}

type unit struct {
	machine.Unit
	Enabled bool `json:"enabled"`
}

type image struct {
	Digest  string `json:"digest"`
	Version string `json:"version"` // VERSION of the image's environment
}

// Open returns the machine in a directory. If the directory is empty, the machine was never started.
func Open(root string) *Machine { return &Machine{root: root} }

// file returns the path of the record. Its name is not used in the guest.
func (s *Machine) file() string { return filepath.Join(s.root, ".simulated.json") }

// view reads the record.
func (s *Machine) view(read func(*state)) error {
	return s.change("", func(st *state) error { read(st); return nil })
}

// change reads the record, changes it and replaces the file. If the effect has no name, the file is not written.
func (s *Machine) change(effect string, do func(*state) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if effect != "" {
		s.did = append(s.did, effect)
		if s.Fail != nil {
			if err := s.Fail(effect); err != nil {
				return err
			}
		}
	}
	if effect != "" { // other processes change the machine too
		mutex := flock.New(s.file() + ".lock")
		if err := mutex.Lock(); err != nil {
			return fmt.Errorf("simulated machine: %w", err)
		}
		defer mutex.Close()
	}
	st := state{Units: map[string]unit{}, Images: map[string]image{}, Disks: map[string]disk{}, Mounts: map[string]string{},
		Packages: map[string]string{}, Users: map[string]int{}}
	data, err := os.ReadFile(s.file())
	if err == nil {
		err = json.Unmarshal(data, &st)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("simulated machine: %w", err)
	}
	if err := do(&st); err != nil || effect == "" {
		return err
	}
	if data, err = json.Marshal(st); err != nil {
		return err
	}
	if err := os.WriteFile(s.file()+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(s.file()+".new", s.file())
}

// failRead asks Fail whether a read fails.
func (s *Machine) failRead(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fail == nil {
		return nil
	}
	return s.Fail("read " + what)
}

// Did returns the effects so far, in order: "restart hermes.service", "load TAG", "run NAME".
func (s *Machine) Did() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.did)
}

// Images returns the tags of the loaded images, sorted.
func (s *Machine) Images() (tags []string) {
	s.view(func(st *state) { tags = slices.Sorted(maps.Keys(st.Images)) })
	return tags
}

// SetMount sets which file system is mounted at a path of the guest. With an empty UUID it is unmounted.
func (s *Machine) SetMount(path, uuid string) error {
	return s.change("set mount "+path, func(st *state) error {
		if uuid == "" {
			delete(st.Mounts, path)
		} else {
			st.Mounts[path] = uuid
		}
		return nil
	})
}

// Reboot is the first part of a boot. It makes every unit inactive, ends freezes and snapshots, and forgets the device
// of MapData unless the unit that makes this device at boot is installed. It leaves the mounts alone. After Reboot a
// boot goes on with Remount, the recovery unit and StartEnabled.
func (s *Machine) Reboot() error {
	return s.change("reboot", func(st *state) error {
		for name, u := range st.Units {
			st.Units[name] = unit{Unit: machine.Unit{Active: "inactive"}, Enabled: u.Enabled}
		}
		st.Held = nil
		if !exists(filepath.Join(s.root, dataUnit)) {
			st.Mapped = ""
		}
		return nil
	})
}

// StartEnabled starts the enabled units, as systemd does at boot.
func (s *Machine) StartEnabled(ctx context.Context) error {
	var names []string
	err := s.view(func(st *state) {
		for _, name := range slices.Sorted(maps.Keys(st.Units)) {
			if st.Units[name].Enabled {
				names = append(names, name)
			}
		}
	})
	for _, name := range names {
		err = errors.Join(err, s.StartUnit(ctx, name))
	}
	return err
}

// guestPath converts a real path to the path inside the guest.
func (s *Machine) guestPath(path string) string {
	rel, err := filepath.Rel(s.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join("/", rel)
}

func (s *Machine) now() time.Time { return time.Now().Truncate(time.Microsecond) }

// Changed returns when the record was last changed; zero if it never was.
func (s *Machine) Changed() time.Time {
	info, err := os.Stat(s.file())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Root returns the directory of the machine.
func (s *Machine) Root() string { return s.root }
