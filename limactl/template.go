package limactl

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Machine describes the VM of a box. All files are local: Lima copies them and downloads nothing.
type Machine struct {
	Name     string
	VMType   string // vz or qemu
	Arch     string // amd64 or arm64
	CPUs     int
	Memory   int64 // bytes
	RootDisk int64 // bytes

	Image        string // absolute path of the root disk's image
	ImageDigest  string // sha256:<hex>, sha512:<hex> or sha512-<base64>; empty: Lima does not check it
	Kernel       string // booted directly, if set
	KernelDigest string
	Cmdline      string
	Initrd       string
	InitrdDigest string

	Disk  string // name of the Lima disk that holds /data
	Ports []int  // guest loopback ports, forwarded to the same ports of host loopback; no other ports are forwarded

	NetplanOptional bool // Ubuntu 26.04: without it the first boot can stall for two minutes (lima #4792)
	Emulated        bool // qemu emulates the processor
}

// The user in the guest. By default Lima would use the name and the uid of the host's user.
const (
	guestUser = "agent"
	guestUID  = 1000
	guestHome = "/home/agent"
)

// YAML returns the template for Client.Create. It overrides every default of Lima that shares something between host
// and guest: there are no mounts, no agent or X11 forwarding, no keys of the user, no proxy settings, and no ports but
// those of m.
func (m Machine) YAML() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, &Error{Message: "machine " + m.Name + ": " + err.Error(), Kind: "invalid_input", Err: err}
	}
	arch := limaArch(m.Arch)
	image := imageYAML{fileYAML: file(m.Image, arch, m.ImageDigest)}
	if m.Kernel != "" {
		image.Kernel = &kernelYAML{fileYAML: file(m.Kernel, arch, m.KernelDigest), Cmdline: m.Cmdline}
	}
	if m.Initrd != "" {
		initrd := file(m.Initrd, arch, m.InitrdDigest)
		image.Initrd = &initrd
	}
	t := templateYAML{
		VMType: m.VMType, OS: "Linux", Arch: arch,
		CPUs: m.CPUs, Memory: size(m.Memory), Disk: size(m.RootDisk),
		Images: []imageYAML{image},
		// Lima must not format the disk, since it would format it again whenever it does not find its own label (lima
		// #5407).
		AdditionalDisks: []diskYAML{{Name: m.Disk}},
		Mounts:          []string{},
		User:            userYAML{Name: guestUser, Comment: guestUser, UID: guestUID, Home: guestHome, Shell: "/bin/bash"},
		Video:           map[string]string{"display": "none"},
		Audio:           map[string]string{"device": "none"},
		// The guest resolves names through the host, so that the host's VPN and networks apply.
		HostResolver:       resolverYAML{Enabled: true},
		GuestInstallPrefix: "/usr/local",
		// Keeps Lima's boot script away from the data disk. Otherwise it would try to mount a partition of the disk
		// and fail, and so would cloud-init's units. The script reads this number after the one that Lima writes.
		Env: map[string]string{"LIMA_CIDATA_DISKS": "0"},
	}
	for _, port := range m.Ports {
		t.PortForwards = append(t.PortForwards, forwardYAML{GuestIP: "127.0.0.1", GuestPort: port, HostIP: "127.0.0.1", HostPort: port, Proto: "tcp"})
	}
	// Lima appends a rule that forwards every other port of guest loopback. The first rule that matches counts.
	t.PortForwards = append(t.PortForwards,
		forwardYAML{GuestIP: "127.0.0.1", Proto: "any", Ignore: true},
		forwardYAML{GuestIP: "0.0.0.0", Proto: "any", Ignore: true})
	if m.NetplanOptional {
		t.Param = map[string]string{"internal_netplanOptional": "true"}
	}
	if m.Emulated {
		t.VMOpts = map[string]any{"qemu": map[string]any{"cpuType": map[string]string{arch: "max"}}}
	}
	return yaml.Marshal(t)
}

func (m Machine) check() error {
	if err := checkName("instance", m.Name); err != nil {
		return err
	}
	if err := checkName("disk", m.Disk); err != nil {
		return err
	}
	switch {
	case m.VMType != "vz" && m.VMType != "qemu":
		return fmt.Errorf("VM type %q is neither vz nor qemu", m.VMType)
	case m.Arch != "amd64" && m.Arch != "arm64":
		return fmt.Errorf("architecture %q is neither amd64 nor arm64", m.Arch)
	case m.CPUs < 1:
		return fmt.Errorf("%d processors are too few", m.CPUs)
	case m.Memory < 256<<20:
		return fmt.Errorf("%d bytes of memory are too few", m.Memory)
	case m.RootDisk < 1<<30:
		return fmt.Errorf("a root disk of %d bytes is too small", m.RootDisk)
	case m.Kernel == "" && (m.Initrd != "" || m.Cmdline != ""):
		return fmt.Errorf("an initrd or a command line without a kernel")
	}
	for _, path := range []string{m.Image, m.Kernel, m.Initrd} {
		if path == "" && path != m.Image {
			continue
		}
		if !filepath.IsAbs(path) {
			return fmt.Errorf("file %q is not an absolute path", path)
		}
	}
	for _, digest := range []string{m.ImageDigest, m.KernelDigest, m.InitrdDigest} {
		if _, err := limaDigest(digest); err != nil {
			return err
		}
	}
	for i, port := range m.Ports {
		if port < 1024 || port > 65535 || slices.Contains(m.Ports[:i], port) {
			return fmt.Errorf("port %d is out of range or named twice", port)
		}
	}
	return nil
}

// limaDigest converts a digest from the lock's form to Lima's.
func limaDigest(digest string) (string, error) {
	sri, ok := strings.CutPrefix(digest, "sha512-")
	if !ok {
		if digest != "" && !strings.HasPrefix(digest, "sha256:") && !strings.HasPrefix(digest, "sha512:") {
			return "", fmt.Errorf("digest %q is neither sha256 nor sha512", digest)
		}
		return digest, nil
	}
	sum, err := base64.StdEncoding.DecodeString(sri)
	if err != nil || len(sum) != 64 {
		return "", fmt.Errorf("digest %q is not a sha512", digest)
	}
	return "sha512:" + hex.EncodeToString(sum), nil
}

func file(path, arch, digest string) fileYAML {
	digest, _ = limaDigest(digest)
	return fileYAML{Location: path, Arch: arch, Digest: digest}
}

// size formats bytes in the largest unit that is exact.
func size(bytes int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if bytes%u.size == 0 {
			return fmt.Sprintf("%d%s", bytes/u.size, u.name)
		}
	}
	return fmt.Sprint(bytes)
}

// templateYAML is the part of Lima's schema that is used. Fields without omitempty override a default.
type templateYAML struct {
	VMType             string            `yaml:"vmType"`
	OS                 string            `yaml:"os"`
	Arch               string            `yaml:"arch"`
	CPUs               int               `yaml:"cpus"`
	Memory             string            `yaml:"memory"`
	Disk               string            `yaml:"disk"`
	VMOpts             map[string]any    `yaml:"vmOpts,omitempty"`
	Images             []imageYAML       `yaml:"images"`
	AdditionalDisks    []diskYAML        `yaml:"additionalDisks"`
	Mounts             []string          `yaml:"mounts"` // always empty
	MountInotify       bool              `yaml:"mountInotify"`
	User               userYAML          `yaml:"user"`
	SSH                sshYAML           `yaml:"ssh"`
	Containerd         containerdYAML    `yaml:"containerd"`
	Video              map[string]string `yaml:"video"`
	Audio              map[string]string `yaml:"audio"`
	PortForwards       []forwardYAML     `yaml:"portForwards"`
	HostResolver       resolverYAML      `yaml:"hostResolver"`
	Env                map[string]string `yaml:"env"`
	Param              map[string]string `yaml:"param,omitempty"`
	GuestInstallPrefix string            `yaml:"guestInstallPrefix"`
	// Off: otherwise Lima would write the host's proxy settings into the guest. They may hold a password, and they
	// differ between terminals.
	PropagateProxyEnv    bool `yaml:"propagateProxyEnv"`
	UpgradePackages      bool `yaml:"upgradePackages"`
	NestedVirtualization bool `yaml:"nestedVirtualization"`
	Plain                bool `yaml:"plain"` // always false: in plain mode Lima forwards no ports
	// Empty keeps the time zone of the image, UTC. Without this field Lima would set the host's.
	TimeZone string `yaml:"timezone"`
}

type fileYAML struct {
	Location string `yaml:"location"`
	Arch     string `yaml:"arch"`
	Digest   string `yaml:"digest,omitempty"`
}

type kernelYAML struct {
	fileYAML `yaml:",inline"`
	Cmdline  string `yaml:"cmdline,omitempty"`
}

type imageYAML struct {
	fileYAML `yaml:",inline"`
	Kernel   *kernelYAML `yaml:"kernel,omitempty"`
	Initrd   *fileYAML   `yaml:"initrd,omitempty"`
}

type diskYAML struct {
	Name   string `yaml:"name"`
	Format bool   `yaml:"format"`
}

type userYAML struct {
	Name    string `yaml:"name"`
	Comment string `yaml:"comment"`
	UID     int    `yaml:"uid"`
	Home    string `yaml:"home"`
	Shell   string `yaml:"shell"`
}

type sshYAML struct {
	LoadDotSSHPubKeys bool `yaml:"loadDotSSHPubKeys"`
	ForwardAgent      bool `yaml:"forwardAgent"`
	ForwardX11        bool `yaml:"forwardX11"`
	ForwardX11Trusted bool `yaml:"forwardX11Trusted"`
}

type containerdYAML struct {
	System bool `yaml:"system"`
	User   bool `yaml:"user"`
}

type resolverYAML struct {
	Enabled bool `yaml:"enabled"`
	IPv6    bool `yaml:"ipv6"`
}

type forwardYAML struct {
	GuestIP   string `yaml:"guestIP"`
	GuestPort int    `yaml:"guestPort,omitempty"`
	HostIP    string `yaml:"hostIP,omitempty"`
	HostPort  int    `yaml:"hostPort,omitempty"`
	Proto     string `yaml:"proto"`
	Ignore    bool   `yaml:"ignore,omitempty"`
}
