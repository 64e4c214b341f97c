// Package demo is the product's own rehearsal machine: everything hermes-box works on, in one directory, with no VM
// and no network. limactl and ssh are internal/rehearsal; below them a simulated machine runs the real engine of
// package guest; what is installed are fixtures, fetched, verified, staged and activated like any other software.
//
// The host's code above it does not know that it is a demo: it finds other programs of the same names in PATH, and
// another home.
package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"hermes-box/internal/rehearsal"
	"hermes-box/internal/rehearsal/userland"
	"hermes-box/limactl"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// Variables of the environment.
const (
	DirVariable    = "HERMES_BOX_DEMO_DIR"    // where all of it is; default: hermes-box-demo in the user's cache directory
	FaultsVariable = "HERMES_BOX_DEMO_FAULTS" // what goes wrong, names with commas between
	PaceVariable   = rehearsal.PaceVariable   // factor for the time that things take; default 1, 0: none
)

// Name is what the box of a demo is called.
const Name = "demo"

// Demo is one demo, ready to be worked on.
type Demo struct {
	Dir    string
	Home   string // its HERMES_BOX_HOME
	Config string // its hermes-box.yaml; the lock is beside it
	Mirror string // where the parts of its image are
	Bin    string // its limactl and ssh; to be first in PATH
}

// Dir is where the demo of this user is, by the environment.
func Dir() (string, error) {
	if dir := os.Getenv(DirVariable); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fault.New(fault.PreflightFailed, "there is no cache directory for a demo: %w", err).Hint("set %s to a directory of its own", DirVariable)
	}
	return filepath.Join(cache, "hermes-box-demo"), nil
}

// marker is the file by which a demo's directory is known as one.
const marker = "hermes-box-demo"

// Open makes the demo in dir, or finds the one that is there: a directory that holds anything else is refused. Its
// config and lock are the user's to edit once they are there.
func Open(dir string) (*Demo, error) {
	d := &Demo{Dir: dir, Home: filepath.Join(dir, "home"), Config: filepath.Join(dir, config.FileName),
		Mirror: filepath.Join(dir, "mirror"), Bin: filepath.Join(dir, "bin")}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.PreflightFailed, "the demo's directory cannot be used: %w", err).Hint("set %s to a directory of its own", DirVariable)
	}
	if len(entries) > 0 && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == marker }) {
		return nil, fault.New(fault.PreflightFailed, "%s holds other things than a demo", dir).Hint("set %s to a directory of its own", DirVariable)
	}
	if err := d.furnish(); err != nil {
		return nil, fault.New(fault.ExternalFailed, "make the demo in %s: %w", dir, err).Hint("set %s to a directory of its own", DirVariable)
	}
	return d, nil
}

// furnish makes what is missing. Several processes may do so at once.
func (d *Demo) furnish() error {
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return err
	}
	// The marker is first: whoever comes while the rest is made knows the directory by it.
	mutex := flock.New(filepath.Join(d.Dir, marker))
	if err := mutex.Lock(); err != nil {
		return err
	}
	defer mutex.Close()
	if err := os.MkdirAll(d.Bin, 0o700); err != nil {
		return err
	}
	if err := rehearsal.Link(d.Bin, append(Props(), "limactl", "ssh")...); err != nil {
		return err
	}
	stamp, edition := filepath.Join(d.Dir, "releases", "edition"), d.edition()
	if have, err := os.ReadFile(stamp); err != nil || string(have) != edition {
		if err := d.stock(); err != nil {
			return err
		}
		if err := write(stamp, []byte(edition)); err != nil {
			return err
		}
	}
	if _, err := os.Stat(d.Config); errors.Is(err, fs.ErrNotExist) {
		executor, dashboard := d.ports()
		text := fmt.Sprintf("# The box of the demo: no VM is made of this.\nschema: %d\nname: %s\nvm: {cpus: 2, memory: 4GiB, root_disk: 30GiB, data_disk: 20GiB}\n"+
			"ports: {executor: %d, dashboard: %d}\nbackup: {keep: 3}\n", config.Schema, Name, executor, dashboard)
		return write(d.Config, []byte(text))
	}
	return nil
}

// edition identifies the fixtures that this program would make here.
func (d *Demo) edition() string {
	h := sha256.New()
	fmt.Fprintln(h, "1", d.Dir, runtime.GOARCH, Releases)
	_ = fs.WalkDir(programs, ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			h.Write(program(e.Name(), ""))
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil)) + "\n"
}

// stock makes the fixtures and their locks: one for each release, and hermes-box.lock, which is the first of them until
// somebody puts another in its place.
func (d *Demo) stock() error {
	path := filepath.Join(d.Dir, lock.FileName)
	have, _ := os.ReadFile(path)
	for i, release := range Releases {
		l, err := shelf{d.Dir}.make(release)
		if err != nil {
			return err
		}
		text := l.Canonical()
		if _, err := lock.Parse(release, text); err != nil {
			return err
		}
		was, _ := os.ReadFile(d.Lock(release))
		if err := write(d.Lock(release), text); err != nil {
			return err
		}
		if len(have) == 0 && i == 0 || len(have) > 0 && bytes.Equal(have, was) {
			if err := write(path, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lock is the file of a release's lock: copied over hermes-box.lock, it is what the box shall be.
func (d *Demo) Lock(release string) string { return filepath.Join(d.Dir, release+".lock") }

// ports are those of a new demo: always the same for the same directory, unless somebody has them.
func (d *Demo) ports() (executor, dashboard int) {
	h := fnv.New32a()
	h.Write([]byte(d.Dir))
	for port := 20000 + int(h.Sum32()%4900)*2; ; port += 2 {
		if port > 29990 {
			port = 20000
		}
		if limactl.PortFree(port) == nil && limactl.PortFree(port+1) == nil {
			return port, port + 1
		}
	}
}

// Helper is the helper of a simulated machine: this very program under another name, found by the machine's PATH.
func Helper(string) ([]byte, error) {
	return []byte("#!/bin/sh\n# The helper of a demo is hermes-box itself, under another name.\nexec hermes-box-guest \"$@\"\n"), nil
}

// Use makes this process find the demo's limactl and ssh before any other.
func (d *Demo) Use() error {
	pace := os.Getenv(PaceVariable)
	switch factor, err := strconv.ParseFloat(pace, 64); {
	case pace == "":
		if err := os.Setenv(PaceVariable, "1"); err != nil {
			return err
		}
	case err != nil || !(factor >= 0 && factor <= 100): // also what is no number
		return fault.New(fault.InvalidInput, "%s %q: accepted are numbers from 0 to 100", PaceVariable, pace).Hint("%s=1", PaceVariable)
	}
	return os.Setenv("PATH", d.Bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// noKVM is a fault of the host: machines are emulated in software.
const noKVM = "no-kvm"

// Acceleration is what a probe of this host finds out about its processor.
func (d *Demo) Acceleration() limactl.Accel {
	if rehearsal.Has(filepath.Join(d.Home, "lima"), noKVM) {
		return limactl.Accel{Name: "tcg", Reason: "this machine has no /dev/kvm"}
	}
	return limactl.Accel{Name: "kvm (demo)"}
}

// Faults are the names of what can go wrong, sorted.
func Faults() []string {
	names := slices.Clone(userland.Faults)
	names = append(names, noKVM)
	for _, f := range rehearsal.Faults {
		names = append(names, string(f))
	}
	slices.Sort(names)
	return names
}

// Inject makes exactly these things go wrong from now on, names with commas between, or none where it is empty.
func (d *Demo) Inject(names string) error {
	var wanted, rest []rehearsal.Fault
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(Faults(), name) {
			return fault.New(fault.InvalidInput, "%s: nothing called %q can go wrong", FaultsVariable, name).Hint("what can: %s", strings.Join(Faults(), " "))
		}
		wanted = append(wanted, rehearsal.Fault(name))
	}
	for _, name := range Faults() {
		if f := rehearsal.Fault(name); !slices.Contains(wanted, f) {
			rest = append(rest, f)
		}
	}
	lima := filepath.Join(d.Home, "lima")
	if _, err := os.Stat(lima); err != nil && len(wanted) == 0 {
		return nil
	}
	return errors.Join(rehearsal.Heal(lima, rest...), rehearsal.Inject(lima, wanted...))
}
