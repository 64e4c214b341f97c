// Package config reads hermes-box.yaml, which describes a box.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/ops/fault"
	"hermes-box/ops/schedule"
	"hermes-box/ops/store"
	"hermes-box/ops/strictyaml"
)

// Schema is the only config schema this program reads.
const Schema = 1

// FileName is the default name of a config file.
const FileName = "hermes-box.yaml"

// EnvPath is the environment variable with the path of a config file.
const EnvPath = "HERMES_BOX_CONFIG"

// Config is a hermes-box.yaml, decoded, checked and with defaults for missing keys.
type Config struct {
	Name   string // of the box; see ValidName
	VM     VM
	Ports  Ports
	Backup Backup

	Path string // of the file: absolute, its directory free of symbolic links
	Dir  string // the directory of Path; a box belongs to it
}

// VM is the machine. Sizes are in bytes, multiples of a MiB.
type VM struct {
	CPUs     int
	Memory   int64
	RootDisk int64
	DataDisk int64
}

// Ports are loopback ports, 1024 to 65535, the same on the host and in the guest. Executor always differs from
// Dashboard.
type Ports struct {
	Executor  int
	Dashboard int
}

// Backup says how many backups are kept, at least 1, and how often a timer makes one: one of schedule.Periods, or 0 for
// no timer.
type Backup struct {
	Keep  int
	Every time.Duration
}

// Locate finds the config file: flag or, if it is empty, HERMES_BOX_CONFIG or, if that is not set, ./hermes-box.yaml.
// If there is no such file, the error is invalid_input, with a hint.
func Locate(flag string) (string, error) {
	path, from := flag, "--config"
	if path == "" {
		path, from = os.Getenv(EnvPath), EnvPath
	}
	if path == "" {
		path, from = FileName, "the current directory"
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		f := fault.New(fault.InvalidInput, "no config file %s (from %s): %w", path, from, reason(err))
		if home := os.Getenv("HOME"); strings.HasPrefix(path, "~/") && home != "" { // quoted: no shell expanded it
			return "", f.Hint("name it in full: %s", shellescape.Quote(filepath.Join(home, path[2:])))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return "", f.Hint("%s", howToMake(path))
		}
		if errors.Is(err, fs.ErrPermission) {
			return "", f.Hint("put it where this user can read it, such as /srv")
		}
		return "", f.Hint("%s", inspect(path))
	case info.IsDir():
		return "", fault.New(fault.InvalidInput, "config %s (from %s) is not a regular file", path, from).
			Hint("name the file itself: --config %s", shellescape.Quote(filepath.Join(path, FileName)))
	case !info.Mode().IsRegular():
		return "", fault.New(fault.InvalidInput, "config %s (from %s) is not a regular file", path, from).Hint("%s", inspect(path))
	}
	return path, nil
}

// howToMake returns a command that makes the smallest config.
func howToMake(path string) string {
	return "printf 'schema: 1\\nname: main\\n' > " + shellescape.Quote(path)
}

// inspect returns the hint for a path that is not a file.
func inspect(path string) string {
	return "put a config file in its place: ls -ld " + shellescape.Quote(path)
}

// reason returns the error without the path that an *os.PathError repeats.
func reason(err error) error {
	if p, ok := err.(*os.PathError); ok {
		return p.Err
	}
	return err
}

// limit is the largest config that is read, in bytes. A config needs far less.
const limit = 64 << 10

// Load reads and checks a config file. Problems in it are a *strictyaml.Error that names each place.
func Load(path string) (*Config, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "config %s: %w", path, err)
	}
	data, err := store.ReadFile(abs, limit)
	if err != nil {
		f := fault.New(fault.InvalidInput, "read config %s: %w", path, reason(err))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.Hint("%s", howToMake(path))
		case errors.Is(err, store.ErrTooLarge):
			f.Hint("a config has a few lines, is this the right file? ls -l %s", shellescape.Quote(path))
		case errors.Is(err, fs.ErrPermission):
			f.Hint("make it readable: chmod a+r %s", shellescape.Quote(path))
		default:
			f.Hint("%s", inspect(path))
		}
		return nil, f
	}
	// A box belongs to a directory. Resolve links, so that two paths to the same directory count as one.
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "config %s: %w", path, err)
	}
	c, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	c.Dir, c.Path = dir, filepath.Join(dir, filepath.Base(abs))
	return c, nil
}

// validName is stricter than Lima's rule for names, so that Lima accepts every name that it matches.
var validName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// nameForm describes the names that ValidName accepts.
const nameForm = "at most 32 letters a to z, digits and single dashes between them, starting with a letter, such as main"

// ValidName reports whether a box can have this name.
func ValidName(name string) bool { return len(name) <= 32 && validName.MatchString(name) }

// Parse checks the text of a config. Errors refer to the file as name. Path and Dir stay empty.
func Parse(name string, data []byte) (*Config, error) {
	c := defaults()
	err := strictyaml.Decode(name, data, func(m *strictyaml.Map) {
		m.Int("schema", Schema, Schema)
		c.Name = m.String("name", nameForm, ValidName)
		if m.Has("vm") {
			m.Map("vm", c.VM.read)
		}
		if m.Has("ports") {
			m.Map("ports", c.Ports.read)
		}
		if m.Has("backup") {
			m.Map("backup", func(m *strictyaml.Map) {
				if m.Has("keep") {
					c.Backup.Keep = int(m.Int("keep", 1, 1000))
				}
				if m.Has("every") {
					names := strings.Join(schedule.PeriodNames(), ", ")
					c.Backup.Every = schedule.Periods[m.String("every", "one of "+names, func(s string) bool { return schedule.Periods[s] > 0 })]
				}
			})
		}
	})
	if err != nil {
		return nil, err
	}
	return &c, nil
}

func (vm *VM) read(m *strictyaml.Map) {
	if m.Has("cpus") {
		vm.CPUs = int(m.Int("cpus", 1, 256))
	}
	size(m, "memory", &vm.Memory, 512*mib, 4096*gib)
	size(m, "root_disk", &vm.RootDisk, 4*gib, 65536*gib)
	size(m, "data_disk", &vm.DataDisk, 1*gib, 65536*gib)
}

func (p *Ports) read(m *strictyaml.Map) {
	const lowest, highest = 1024, 65535
	if m.Has("executor") {
		p.Executor = int(m.Int("executor", lowest, highest))
	}
	if m.Has("dashboard") {
		p.Dashboard = int(m.Int("dashboard", lowest, highest))
	}
	if p.Executor == p.Dashboard && p.Executor != 0 {
		key := "dashboard"
		if !m.Has(key) {
			key = "executor"
		}
		m.Problem(key, fmt.Sprintf("%d for both ports", p.Executor), "two different ports")
	}
}

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
)

var validSize = regexp.MustCompile(`^([1-9][0-9]{0,9})(MiB|GiB)$`)

// size reads an optional size into v, which already holds the default.
func size(m *strictyaml.Map, key string, v *int64, least, most int64) {
	if !m.Has(key) {
		return
	}
	parsed := int64(0)
	m.String(key, fmt.Sprintf("a whole number of MiB or GiB from %s to %s, such as 8GiB", FormatSize(least), FormatSize(most)),
		func(s string) bool {
			parsed = parseSize(s)
			return parsed >= least && parsed <= most
		})
	*v = parsed
}

// parseSize returns 0 for a text that is not a size.
func parseSize(s string) int64 {
	parts := validSize.FindStringSubmatch(s)
	if parts == nil {
		return 0
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return 0
	}
	if parts[2] == "GiB" {
		return n * gib
	}
	return n * mib
}

// FormatSize writes a size the way a config does: "8GiB", "512MiB". Bytes below a MiB are dropped.
func FormatSize(bytes int64) string {
	if bytes%gib == 0 {
		return strconv.FormatInt(bytes/gib, 10) + "GiB"
	}
	return strconv.FormatInt(bytes/mib, 10) + "MiB"
}

func defaults() Config {
	return Config{
		VM:     VM{CPUs: 4, Memory: 8 * gib, RootDisk: 30 * gib, DataDisk: 50 * gib},
		Ports:  Ports{Executor: 4788, Dashboard: 9119},
		Backup: Backup{Keep: 5},
	}
}
