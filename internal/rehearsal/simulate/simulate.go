// Package simulate is a machine that is a plain directory: a guest.Machine whose units, images, disks and users
// are a record in a file, so that the whole engine runs without privilege and without a VM. What it is told
// survives the process, as on a machine; Reboot is what a power cut leaves.
//
// Programs below the directory are really run, and journalctl tells what units did. All others succeed without
// doing anything.
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

	// Fail, if set, is asked before each effect, named as in Did, and before each look that may go wrong: "look at
	// units", "look at disk /dev/vdb", "look at mount /data". An error it returns is that of the effect or the look.
	Fail func(effect string) error
	// Programs stand in for programs of a base name, also for those below the directory.
	Programs map[string]func(machine.Cmd) ([]byte, error)
	// Oneshot is what starting a unit runs, for those that end; an error makes the unit failed.
	Oneshot map[string]func(context.Context) error
	// Crashes, if set, tells of a unit that ends as soon as it has been started.
	Crashes func(unit string) bool
	// Tools are those Executor offers; nil: execute and resume.
	Tools []string
	// Full makes every disk look all but full.
	Full bool

	did []string
}

var _ guest.Machine = (*Machine)(nil)

// state is what the machine remembers.
type state struct {
	Units    map[string]unit   `json:"units"`
	Images   map[string]image  `json:"images"` // by tag
	Disks    map[string]disk   `json:"disks"`  // by device
	Mounts   map[string]string `json:"mounts"` // path in the guest -> UUID
	Packages map[string]string `json:"packages"`
	Users    map[string]int    `json:"users"`
}

type unit struct {
	machine.Unit
	Enabled bool `json:"enabled"`
}

type image struct {
	Digest  string `json:"digest"`
	Version string `json:"version"` // VERSION of the image's environment
}

// Open gives the machine in a directory; an empty one is a machine that was never started.
func Open(root string) *Machine { return &Machine{root: root} }

// file is beside what the guest sees of its own directory tree, in a place no guest path names.
func (s *Machine) file() string { return filepath.Join(s.root, ".simulated.json") }

// look reads the record, under the lock.
func (s *Machine) look(read func(*state)) error {
	return s.change("", func(st *state) error { read(st); return nil })
}

// change reads the record, changes it and writes it back beside and by rename. An effect has a name; a look has
// none and is not written back.
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

// answers asks Fail about a look.
func (s *Machine) answers(at string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fail == nil {
		return nil
	}
	return s.Fail("look at " + at)
}

// Did are the effects asked for so far, in order: "restart hermes.service", "load TAG", "run NAME".
func (s *Machine) Did() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.did)
}

// Images are the tags that are loaded, sorted.
func (s *Machine) Images() (tags []string) {
	s.look(func(st *state) { tags = slices.Sorted(maps.Keys(st.Images)) })
	return tags
}

// SetMount says which filesystem is mounted at a path of the guest; an empty UUID unmounts it.
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

// Reboot stops every unit and forgets that they ran. Mounts stay as they were; Remount makes them anew as fstab has
// it. StartEnabled is the other half of a boot; the recovery unit runs between the two.
func (s *Machine) Reboot() error {
	return s.change("reboot", func(st *state) error {
		for name, u := range st.Units {
			st.Units[name] = unit{Unit: machine.Unit{Active: "inactive"}, Enabled: u.Enabled}
		}
		return nil
	})
}

// StartEnabled starts what is enabled, as systemd does at boot.
func (s *Machine) StartEnabled(ctx context.Context) error {
	var names []string
	err := s.look(func(st *state) {
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

// guestPath is the path inside the guest of a real path.
func (s *Machine) guestPath(path string) string {
	rel, err := filepath.Rel(s.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join("/", rel)
}

func (s *Machine) now() time.Time { return time.Now().Truncate(time.Microsecond) }

// Changed is when the machine was last changed; zero if it never was.
func (s *Machine) Changed() time.Time {
	info, err := os.Stat(s.file())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Root is the directory.
func (s *Machine) Root() string { return s.root }
