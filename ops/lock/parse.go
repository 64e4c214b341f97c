package lock

import (
	"errors"
	"io/fs"
	"math"
	"regexp"
	"strings"
	"unicode"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/ops/fault"
	"hermes-box/ops/store"
	"hermes-box/ops/strictyaml"
)

// FileName is the name of a lock file; it is beside the config.
const FileName = "hermes-box.lock"

// Load reads and checks a lock. A missing lock is invalid_input, since only reviewed software is installed. Problems in
// a lock are a *strictyaml.Error that names each place.
func Load(path string) (*Lock, error) {
	data, err := store.ReadFile(path, strictyaml.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.InvalidInput, "no lock file %s, so there is nothing reviewed to install", path).
			Hint("copy a reviewed %s there; or, to make one for this machine, in the directory of the sources: make box", FileName)
	case err != nil:
		return nil, fault.New(fault.InvalidInput, "read lock: %w", err).Hint("look at it: ls -ld %s", shellescape.Quote(path))
	}
	return Parse(path, data)
}

// Parse checks the text of a lock. Errors refer to the file as name.
func Parse(name string, data []byte) (*Lock, error) {
	l := &Lock{}
	if err := strictyaml.Decode(name, data, l.read); err != nil {
		return nil, err
	}
	return l, nil
}

var (
	limaVersion    = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)
	packageName    = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]{1,99}$`)
	packageVersion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+:~-]{0,99}$`)
	version        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_~-]{0,99}$`)
	pythonVersion  = regexp.MustCompile(`^3\.[0-9]+(\.[0-9]+)?$`)
	fileName       = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+~!@%=-]{0,199}$`)
)

// line reports whether s is one line of printable text.
func line(s string) bool {
	return s != "" && len(s) <= 2000 && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (l *Lock) read(m *strictyaml.Map) {
	l.Schema = int(m.Int("schema", Schema, Schema))
	m.Map("lima", func(m *strictyaml.Map) {
		l.Lima.Version = m.String("version", "a release of Lima, such as 2.1.3", limaVersion.MatchString)
	})
	l.Arch = m.String("arch", "amd64 or arm64", func(s string) bool { return s == "amd64" || s == "arm64" })
	m.Map("image", l.Image.read)
	if m.Has("packages") {
		l.readPackages(m)
	}
	l.readComponents(m)
}

func (i *Image) read(m *strictyaml.Map) {
	i.Name = m.String("name", "one line of text, such as ubuntu 26.04", line)
	m.Map("disk", i.Disk.read)
	if m.Has("kernel") {
		i.Kernel = &Kernel{}
		m.Map("kernel", func(m *strictyaml.Map) {
			i.Kernel.Artifact.read(m)
			i.Kernel.Cmdline = m.String("cmdline", "a kernel command line, such as root=/dev/vda rw", line)
		})
	}
	if m.Has("initrd") {
		i.Initrd = &Artifact{}
		m.Map("initrd", i.Initrd.read)
		if i.Kernel == nil {
			m.Problem("initrd", "an initrd without a kernel", "an initrd beside a kernel")
		}
	}
}

func (l *Lock) readPackages(m *strictyaml.Map) {
	seen := map[string]bool{}
	m.List("packages", func(m *strictyaml.Map) {
		var p Package
		p.Name = m.String("name", "the name of an OS package, such as libatomic1", packageName.MatchString)
		if seen[p.Name] && p.Name != "" {
			m.Problem("name", "a second package "+p.Name, "each package once")
		}
		seen[p.Name] = true
		p.Version = m.String("version", "the version of an OS package, such as 14.2.0-19", packageVersion.MatchString)
		m.Map("artifact", p.Artifact.read)
		l.Packages = append(l.Packages, p)
	})
}

func (l *Lock) readComponents(m *strictyaml.Map) {
	l.Components = map[string]*Component{}
	m.Map("components", func(m *strictyaml.Map) {
		for _, name := range Order {
			c := &Component{}
			l.Components[name] = c
			m.Map(name, func(m *strictyaml.Map) { c.read(m, name) })
		}
	})
}

func (c *Component) read(m *strictyaml.Map, name string) {
	c.Version = m.String("version", "a version, such as 1.2.3", version.MatchString)
	c.Source = m.String("source", "a package URL, such as pkg:npm/name@1.2.3", line)
	seen := map[string]bool{}
	m.List("artifacts", func(m *strictyaml.Map) {
		var a Artifact
		a.read(m)
		if seen[a.Name] && a.Name != "" {
			m.Problem("name", "a second artifact "+a.Name, "each name once in a component")
		}
		seen[a.Name] = true
		c.Artifacts = append(c.Artifacts, a)
	})
	if m.Has("artifacts") && len(c.Artifacts) == 0 {
		m.Problem("artifacts", "no artifact", "at least one")
	}
	if c.Source != "" && c.Version != "" {
		if found, accepted := checkSource(c); found != "" {
			m.Problem("source", found, accepted)
		}
	}
	switch {
	case name == "hermes":
		c.Python = &Python{}
		m.Map("python", func(m *strictyaml.Map) { c.Python.read(m, seen) })
	case m.Has("python"):
		m.Problem("python", "the key python", "python only in hermes")
		c.Python = &Python{}
		m.Map("python", func(m *strictyaml.Map) { c.Python.read(m, seen) })
	}
}

func (p *Python) read(m *strictyaml.Map, artifacts map[string]bool) {
	p.Version = m.String("version", `a version of Python, such as "3.13"`, pythonVersion.MatchString)
	if m.Has("artifact") {
		p.Artifact = m.String("artifact", "the name of one of the component's artifacts",
			func(s string) bool { return s != "" && artifacts[s] })
	}
}

func (a *Artifact) read(m *strictyaml.Map) {
	a.Name = m.String("name", "a plain file name, such as node.tar.xz", fileName.MatchString)
	a.URL = m.String("url", "an http, https, file or oci URL", line)
	a.Size = m.Int("size", 1, math.MaxInt64)
	a.Digest = m.String("digest", digestForms, func(s string) bool {
		_, err := ParseDigest(s)
		return err == nil
	})
	if a.URL == "" {
		return
	}
	if found, accepted := checkURL(a); found != "" {
		m.Problem("url", found, accepted)
	}
}
