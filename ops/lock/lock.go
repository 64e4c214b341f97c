// Package lock reads hermes-box.lock: the reviewed list of everything that hermes-box installs in a box. No command
// changes it; restore writes it if there is none.
//
// Artifacts are identified by their digest. A url only says where to look, so two locks that differ only in urls
// describe the same software.
package lock

// Schema is the only lock schema this program reads.
const Schema = 1

// Lock is a hermes-box.lock, decoded and validated.
type Lock struct {
	Schema     int                   `yaml:"schema"`
	Lima       Lima                  `yaml:"lima"`
	Arch       string                `yaml:"arch"` // of the guest: amd64 or arm64
	Image      Image                 `yaml:"image"`
	Packages   []Package             `yaml:"packages,omitempty"`
	Components map[string]*Component `yaml:"components"` // exactly the names in Order
}

// Lima pins the version of Lima that the lock was tested with. No other version is accepted.
type Lima struct {
	Version string `yaml:"version"`
}

// Image is the OS image of the disposable root disk. Kernel and Initrd are set when the image is booted
// directly, without a boot loader.
type Image struct {
	Name   string    `yaml:"name"` // for people: "ubuntu 26.04"
	Disk   Artifact  `yaml:"disk"`
	Kernel *Kernel   `yaml:"kernel,omitempty"`
	Initrd *Artifact `yaml:"initrd,omitempty"`
}

// Kernel is a directly booted kernel and its command line.
type Kernel struct {
	Artifact `yaml:",inline"`
	Cmdline  string `yaml:"cmdline"`
}

// Package is one OS package in addition to those of the image.
type Package struct {
	Name     string   `yaml:"name"`
	Version  string   `yaml:"version"`
	Artifact Artifact `yaml:"artifact"`
}

// Component is one of the six things that are installed in a box.
type Component struct {
	Version   string     `yaml:"version"`
	Source    string     `yaml:"source"`           // package URL, https://github.com/package-url/purl-spec
	Python    *Python    `yaml:"python,omitempty"` // hermes only
	Artifacts []Artifact `yaml:"artifacts"`
}

// Python is the interpreter for Hermes. If Artifact is empty it is the guest's own python3, which must have that
// version ("3.13"); otherwise Artifact names one of the component's artifacts.
type Python struct {
	Version  string `yaml:"version"`
	Artifact string `yaml:"artifact,omitempty"`
}

// Artifact is one immutable input.
//
// Digest is "sha256:<64 hex>" or the SRI form "sha512-<base64>". URL is http, https, file, or
// oci://registry/repository@sha256:<hex>; for oci the digest is that of the image manifest, and size is the sum of
// manifest, config and layers, each distinct blob counted once. Size is in bytes, at least 1.
type Artifact struct {
	Name   string `yaml:"name"` // file name, unique within its component
	URL    string `yaml:"url"`
	Size   int64  `yaml:"size"`
	Digest string `yaml:"digest"`
}

// Order is the order in which components are installed and checked.
var Order = []string{"node", "uv", "claude", "codex", "hermes", "executor"}
