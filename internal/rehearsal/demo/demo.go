// Package demo sets up in one directory everything that hermes-box works with, without a VM or a network. limactl and
// ssh are the stand-ins of internal/rehearsal. In their instances a simulated machine runs the real engine of package
// guest, which verifies, stages and activates fixtures like any other software.
//
// The code of the host is the same as without a demo. Only settings such as PATH and the home are different.
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

// Environment variables.
const (
	DirVariable    = "HERMES_BOX_DEMO_DIR"    // the directory of the demo; default: hermes-box-demo in the user's cache directory
	FaultsVariable = "HERMES_BOX_DEMO_FAULTS" // names of faults, separated by commas
	PaceVariable   = rehearsal.PaceVariable   // factor for pauses; default 1, 0: none
)

// Name is the name of the box of a demo.
const Name = "demo"

// Demo is the directory of one demo.
type Demo struct {
	Dir    string
	Home   string // its HERMES_BOX_HOME
	Config string // its hermes-box.yaml; the lock is in the same directory
	Mirror string // directory with the parts of Executor's image
	Bin    string // its limactl and ssh; must be first in PATH
}

// Dir returns the directory of this user's demo.
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

// marker is the file that marks a directory as a demo.
const marker = "hermes-box-demo"

// Open opens the demo in dir and creates it if necessary. It refuses a directory that holds anything else. It does not
// change the config and the lock of an existing demo if the user has edited them.
func Open(dir string) (*Demo, error) {
	d := &Demo{Dir: dir, Home: filepath.Join(dir, "home"), Config: filepath.Join(dir, config.FileName),
		Mirror: filepath.Join(dir, "mirror"), Bin: filepath.Join(dir, "bin")}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.PreflightFailed, "the demo's directory cannot be used: %w", err).Hint("set %s to a directory of its own", DirVariable)
	}
	if len(entries) > 0 && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == marker }) {
		return nil, fault.New(fault.PreflightFailed, "%s holds files that are not of a demo", dir).Hint("set %s to a directory of its own", DirVariable)
	}
	if err := d.furnish(); err != nil {
		return nil, fault.New(fault.ExternalFailed, "make the demo in %s: %w", dir, err).Hint("set %s to a directory of its own", DirVariable)
	}
	return d, nil
}

// furnish creates the files that are missing, and renews the fixtures if those of this program differ. Several
// processes may call it at the same time.
func (d *Demo) furnish() error {
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return err
	}
	// The marker comes first, so that another process recognizes the directory while the rest is created.
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
		text := fmt.Sprintf("# The box of the demo: no VM is made from it.\nschema: %d\nname: %s\nvm: {cpus: 2, memory: 4GiB, root_disk: 30GiB, data_disk: 20GiB}\n"+
			"ports: {executor: %d, dashboard: %d}\nbackup: {keep: 3}\n", config.Schema, Name, executor, dashboard)
		return write(d.Config, []byte(text))
	}
	return nil
}

// edition returns a digest that identifies the fixtures that this program creates in this directory.
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

// stock creates the fixtures and a lock for each release. hermes-box.lock becomes a copy of the first lock if it does
// not exist. If it is a copy of an older lock of a release, it is updated; if the user has edited it, it stays.
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

// Lock returns the lock file of a release. Copy it over hermes-box.lock to make it the desired one.
func (d *Demo) Lock(release string) string { return filepath.Join(d.Dir, release+".lock") }

// ports returns the ports of a new demo: always the same for a directory, unless they are in use.
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

// Helper returns the helper of a simulated machine: a script that runs this program under another name.
func Helper(string) ([]byte, error) {
	return []byte("#!/bin/sh\n# The helper of a demo is hermes-box itself, under another name.\nexec hermes-box-guest \"$@\"\n"), nil
}

// Use puts the demo's limactl and ssh first in the PATH of this process. It also sets PaceVariable to 1 if it is not
// set, and returns an error if it is no number from 0 to 100.
func (d *Demo) Use() error {
	pace := os.Getenv(PaceVariable)
	switch factor, err := strconv.ParseFloat(pace, 64); {
	case pace == "":
		if err := os.Setenv(PaceVariable, "1"); err != nil {
			return err
		}
	case err != nil || !(factor >= 0 && factor <= 100): // true for NaN too
		return fault.New(fault.InvalidInput, "%s %q: accepted are numbers from 0 to 100", PaceVariable, pace).Hint("%s=1", PaceVariable)
	}
	return os.Setenv("PATH", d.Bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// noKVM is the fault of a host without KVM, which emulates VMs in software.
const noKVM = "no-kvm"

// Acceleration returns the acceleration that the demo simulates.
func (d *Demo) Acceleration() limactl.Accel {
	if rehearsal.Has(filepath.Join(d.Home, "lima"), noKVM) {
		return limactl.Accel{Name: "tcg", Reason: "this machine has no /dev/kvm"}
	}
	return limactl.Accel{Name: "kvm (demo)"}
}

// Faults returns the names of all faults, sorted.
func Faults() []string {
	names := slices.Clone(userland.Faults)
	names = append(names, noKVM)
	for _, f := range rehearsal.Faults {
		names = append(names, string(f))
	}
	slices.Sort(names)
	return names
}

// Inject switches on the named faults, separated by commas, and switches off all others.
func (d *Demo) Inject(names string) error {
	var wanted, rest []rehearsal.Fault
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(Faults(), name) {
			return fault.New(fault.InvalidInput, "%s: there is no fault %q", FaultsVariable, name).Hint("the faults: %s", strings.Join(Faults(), " "))
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
