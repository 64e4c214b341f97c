package limactl

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// full returns a machine with every field set.
func full(vmType, arch string) Machine {
	return Machine{
		Name: "main", VMType: vmType, Arch: arch, CPUs: 4, Memory: 8 << 30, RootDisk: 30 << 30,
		Image: "/a dir/root.img", ImageDigest: "sha256:" + strings.Repeat("ab", 32),
		Kernel: "/a dir/vmlinuz", KernelDigest: "sha512-" + strings.Repeat("A", 86) + "==", Cmdline: "root=/dev/vda rw console=ttyS0 net.ifnames=0",
		Initrd: "/a dir/initrd", InitrdDigest: "sha256:" + strings.Repeat("cd", 32),
		Disk: "main-data", Ports: []int{4788, 9119}, NetplanOptional: true, Emulated: vmType == "qemu",
	}
}

func TestTemplate(t *testing.T) {
	text, err := full("qemu", "amd64").YAML()
	if err != nil {
		t.Fatal(err)
	}
	const want = `vmType: qemu
os: Linux
arch: x86_64
cpus: 4
memory: 8GiB
disk: 30GiB
vmOpts:
    qemu:
        cpuType:
            x86_64: max
images:
    - location: /a dir/root.img
      arch: x86_64
      digest: sha256:abababababababababababababababababababababababababababababababab
      kernel:
        location: /a dir/vmlinuz
        arch: x86_64
        digest: sha512:00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
        cmdline: root=/dev/vda rw console=ttyS0 net.ifnames=0
      initrd:
        location: /a dir/initrd
        arch: x86_64
        digest: sha256:cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd
additionalDisks:
    - name: main-data
      format: false
mounts: []
mountInotify: false
user:
    name: agent
    comment: agent
    uid: 1000
    home: /home/agent
    shell: /bin/bash
ssh:
    loadDotSSHPubKeys: false
    forwardAgent: false
    forwardX11: false
    forwardX11Trusted: false
containerd:
    system: false
    user: false
video:
    display: none
audio:
    device: none
portForwards:
    - guestIP: 127.0.0.1
      guestPort: 4788
      hostIP: 127.0.0.1
      hostPort: 4788
      proto: tcp
    - guestIP: 127.0.0.1
      guestPort: 9119
      hostIP: 127.0.0.1
      hostPort: 9119
      proto: tcp
    - guestIP: 127.0.0.1
      proto: any
      ignore: true
    - guestIP: 0.0.0.0
      proto: any
      ignore: true
hostResolver:
    enabled: true
    ipv6: false
env:
    LIMA_CIDATA_DISKS: "0"
param:
    internal_netplanOptional: "true"
guestInstallPrefix: /usr/local
propagateProxyEnv: false
upgradePackages: false
nestedVirtualization: false
plain: false
timezone: ""
`
	if string(text) != want {
		t.Errorf("got\n%s", text)
	}
}

// Every template overrides the defaults of Lima that share something between host and guest.
func TestTemplateOverridesDefaults(t *testing.T) {
	small := machine("main", "data")
	for _, m := range []Machine{small, full("vz", "arm64"), full("qemu", "arm64")} {
		text, err := m.YAML()
		if err != nil {
			t.Fatal(err)
		}
		var y struct {
			Plain           bool
			Mounts          []any
			AdditionalDisks []struct {
				Name   string
				Format *bool
			} `yaml:"additionalDisks"`
			PortForwards []map[string]any `yaml:"portForwards"`
			Param        map[string]string
			User         map[string]any
			SSH          map[string]bool `yaml:"ssh"`
		}
		if err := yaml.Unmarshal(text, &y); err != nil {
			t.Fatal(err)
		}
		if y.Plain || y.Mounts == nil || len(y.Mounts) != 0 {
			t.Errorf("plain %v, mounts %v", y.Plain, y.Mounts)
		}
		if len(y.AdditionalDisks) != 1 || y.AdditionalDisks[0].Name != m.Disk || y.AdditionalDisks[0].Format == nil || *y.AdditionalDisks[0].Format {
			t.Errorf("disks %+v", y.AdditionalDisks)
		}
		n := len(y.PortForwards)
		if n != len(m.Ports)+2 || y.PortForwards[n-2]["guestIP"] != "127.0.0.1" || y.PortForwards[n-1]["guestIP"] != "0.0.0.0" {
			t.Fatalf("forwards %v", y.PortForwards)
		}
		for i, f := range y.PortForwards {
			last := i >= n-2
			if (f["ignore"] == true) != last || !last && (f["hostIP"] != "127.0.0.1" || f["guestIP"] != "127.0.0.1" || f["hostPort"] != m.Ports[i]) {
				t.Errorf("forward %d: %v", i, f)
			}
		}
		if (y.Param["internal_netplanOptional"] == "true") != m.NetplanOptional {
			t.Errorf("param %v", y.Param)
		}
		if y.User["uid"] != 1000 || y.User["name"] != "agent" {
			t.Errorf("user %v", y.User)
		}
		for key, on := range y.SSH {
			if on {
				t.Errorf("ssh.%s is on", key)
			}
		}
		// The template must fit into a line of limactl list.
		if len(text) > 8<<10 {
			t.Errorf("%d bytes", len(text))
		}
	}
}

func TestMachineRefused(t *testing.T) {
	for name, change := range map[string]func(*Machine){
		"unknown VM type":                 func(m *Machine) { m.VMType = "wsl2" },
		"name of an architecture in Lima": func(m *Machine) { m.Arch = "x86_64" },
		"no processor":                    func(m *Machine) { m.CPUs = 0 },
		"no memory":                       func(m *Machine) { m.Memory = 0 },
		"no root disk":                    func(m *Machine) { m.RootDisk = 0 },
		"no image":                        func(m *Machine) { m.Image = "" },
		"image to fetch":                  func(m *Machine) { m.Image = "https://example.org/x.img" },
		"relative kernel":                 func(m *Machine) { m.Kernel = "vmlinuz" },
		"initrd alone":                    func(m *Machine) { m.Kernel = "" },
		"no disk":                         func(m *Machine) { m.Disk = "" },
		"disk with a path":                func(m *Machine) { m.Disk = "../x" },
		"name that is a flag":             func(m *Machine) { m.Name = "-f" },
		"low port":                        func(m *Machine) { m.Ports = []int{80} },
		"port twice":                      func(m *Machine) { m.Ports = []int{4788, 4788} },
		"md5 digest":                      func(m *Machine) { m.ImageDigest = "md5:00" },
		"short digest":                    func(m *Machine) { m.ImageDigest = "sha512-AAAA" },
	} {
		m := full("qemu", "amd64")
		change(&m)
		if _, err := m.YAML(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{8 << 30: "8GiB", 1536 << 20: "1536MiB", 1<<30 + 1: "1073741825"} {
		if got := size(bytes); got != want {
			t.Errorf("size(%d) = %s, want %s", bytes, got, want)
		}
	}
}
