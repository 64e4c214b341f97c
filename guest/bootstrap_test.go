package guest_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hermes-box/assets/guestfiles"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

func askFormat() protocol.Bootstrap {
	return protocol.Bootstrap{Box: "main", DataDevice: "/dev/vdb", Format: true, Ports: ports}
}

// formats returns the UUIDs of all formattings that were started.
func (b *box) formats() (uuids []string) {
	for _, did := range b.sys.Did() {
		if f := strings.Fields(did); f[0] == "format" {
			uuids = append(uuids, f[2])
		}
	}
	return uuids
}

// mounts returns the places at which something was mounted.
func (b *box) mounts() (at []string) {
	for _, did := range b.sys.Did() {
		if where, ok := strings.CutPrefix(did, "mount "); ok {
			at = append(at, where)
		}
	}
	return at
}

// The network is cut off before anything else is done.
func TestBootstrapOffline(t *testing.T) {
	b := newRoot(t, blankDisk)
	ask := askFormat()
	_, err := b.Bootstrap(t.Context(), ask)
	must(t, err)
	if slices.Contains(b.sys.Did(), "offline") {
		t.Error("the network was cut off although Offline was not set")
	}
	b = newRoot(t, blankDisk)
	ask.Offline = true
	_, err = b.Bootstrap(t.Context(), ask)
	must(t, err)
	if did := b.sys.Did(); did[0] != "offline" {
		t.Errorf("did %q", did)
	}
	b = newRoot(t, blankDisk)
	b.failAt("offline")
	if _, err := b.Bootstrap(t.Context(), ask); err == nil || slices.ContainsFunc(b.sys.Did(), func(did string) bool { return strings.HasPrefix(did, "start") }) {
		t.Errorf("%v, did %q", err, b.sys.Did())
	}
}

// If the network of a machine was cut off, the recovery unit cuts it off again after a reboot. If that fails, recovery
// fails, so that the services do not start.
func TestOfflineOutlivesAReboot(t *testing.T) {
	for _, offline := range []bool{false, true} {
		b := newRoot(t, blankDisk)
		ask := askFormat()
		ask.Offline = offline
		_, err := b.Bootstrap(t.Context(), ask)
		must(t, err)
		must(t, b.sys.Reboot())
		before := len(b.sys.Did())
		_, err = b.Recover(t.Context())
		must(t, err)
		if did := b.sys.Did()[before:]; slices.Contains(did, "offline") != offline {
			t.Errorf("offline %v: the recovery did %q", offline, did)
		}
		b.failAt("offline")
		if _, err := b.Recover(t.Context()); (err != nil) != offline {
			t.Errorf("offline %v: Recover returns %v when the network cannot be cut off", offline, err)
		}
	}
}

func TestBootstrapFresh(t *testing.T) {
	b := newRoot(t, blankDisk)
	var ran []string
	b.sys.Programs = map[string]func(machine.Cmd) ([]byte, error){}
	for _, name := range []string{"loginctl", "sshd", "systemctl"} {
		b.sys.Programs[name] = func(c machine.Cmd) ([]byte, error) {
			ran = append(ran, strings.Join(append([]string{c.Path}, c.Args...), " "))
			return nil, nil
		}
	}
	out, err := b.Bootstrap(t.Context(), askFormat())
	must(t, err)
	uuid := regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	if !out.Formatted || !uuid.MatchString(out.DataUUID) || !slices.Equal(b.formats(), []string{out.DataUUID}) {
		t.Errorf("answer %+v, formatted as %v", out, b.formats())
	}
	if got := b.read("/var/lib/hermes-box/data.uuid"); got != out.DataUUID+"\n" {
		t.Errorf("recorded UUID %q", got)
	}
	if b.has("/var/lib/hermes-box/format.json") {
		t.Error("the record of the formatting is still there")
	}
	for file, wants := range map[string][]string{
		"/etc/fstab": {"/dev/vda / ext4", "/dev/mapper/hermes-box-data /data ext4 noatime,nofail,x-systemd.device-timeout=60s,x-systemd.requires=hermes-box-data.service 0 2\n",
			"/data/home/agent /home/agent none bind,nofail", "/data/home/agent/workspace /workspace none bind,nofail"},
		"/etc/environment": {"no_proxy=localhost\n", "CLAUDE_CONFIG_DIR=/home/agent/.claude\n", "DISABLE_UPDATES=1\n"},
	} {
		for _, want := range wants {
			if text := b.read(file); !strings.Contains(text, want) {
				t.Errorf("%s has no %q:\n%s", file, want, text)
			}
		}
	}
	if b.read("/etc/ssh/authorized_keys.d/agent") != "ssh-ed25519 AAAA lima\n" {
		t.Error("the keys were not copied")
	}
	if b.read("/home/agent/.config/a") != "a\n" {
		t.Error("the home has no skeleton")
	}
	for _, f := range guestfiles.All() {
		info, err := os.Stat(b.Path(f.Path))
		if err != nil || info.Mode() != f.Mode {
			t.Errorf("%s: %v, %v", f.Path, info, err)
		}
	}
	if at, err := os.Readlink(b.Path("/usr/local/bin/tm")); err != nil || at != protocol.HelperPath {
		t.Errorf("tm is %q, %v", at, err)
	}
	for _, want := range []string{"user agent 1000 /home/agent",
		"chown /data/home/agent.new/.bashrc 1000:1000", "chown /data/home/agent/.hermes-box-workspace 1000:1000",
		"enable hermes.service", "enable executor.service", "enable hermes-box-recovery.service"} {
		if !slices.Contains(b.sys.Did(), want) {
			t.Errorf("never did: %s", want)
		}
	}
	for _, want := range []string{"loginctl enable-linger agent", "sshd -t"} {
		if !slices.Contains(ran, want) {
			t.Errorf("never ran: %s", want)
		}
	}
	if slices.Index(ran, "sshd -t") > slices.Index(ran, "systemctl try-reload-or-restart ssh.service") {
		t.Error("sshd was reloaded before its settings were checked")
	}
	states := map[string]string{}
	for _, e := range b.events {
		states[e.Phase] = e.State
	}
	if states["format"] != protocol.Done || states["packages"] != protocol.Skipped || states["record"] != protocol.Done {
		t.Errorf("phases ended as %v", states)
	}
	if !strings.Contains(b.read("/var/lib/hermes-box/bootstrap.json"), out.DataUUID) {
		t.Errorf("recorded: %s", b.read("/var/lib/hermes-box/bootstrap.json"))
	}
}

func TestBootstrapAgain(t *testing.T) {
	b := newRoot(t, blankDisk)
	first, err := b.Bootstrap(t.Context(), askFormat())
	must(t, err)
	b.write("/home/agent/.bashrc", "# mine\n")
	b.write("/home/agent/.ssh/authorized_keys", "ssh-ed25519 PLANTED\n")
	ask := askFormat()
	ask.Ports.Executor = 5000
	second, err := b.Bootstrap(t.Context(), ask)
	must(t, err)
	if second.Formatted || second.DataUUID != first.DataUUID || len(b.formats()) != 1 {
		t.Errorf("second run: %+v, formats %v", second, b.formats())
	}
	if b.read("/data/home/agent/.bashrc") != "# mine\n" {
		t.Error("the second run changed the home")
	}
	if strings.Contains(b.read("/etc/ssh/authorized_keys.d/agent"), "PLANTED") {
		t.Error("a key from the data disk may log in")
	}
	if !strings.Contains(b.read("/var/lib/hermes-box/ports.env"), "EXECUTOR_PORT=5000") {
		t.Error("the new port was not recorded")
	}
}

// The error of a failure names the phase. A failure does no harm, and the next run finishes.
func TestBootstrapFailures(t *testing.T) {
	for what, phase := range map[string]string{"user agent 1000 /home/agent": "user", "read disk /dev/vdb": "format",
		"mount /data": "mount", "chown /data/home/agent.new/.bashrc 1000:1000": "mount", "sync": "mount", "mount /home/agent": "mount", "run sshd": "login", "enable hermes.service": "units"} {
		b := newRoot(t, blankDisk)
		b.failAt(what)
		_, err := b.Bootstrap(t.Context(), askFormat())
		var e *protocol.Error
		if !errors.As(err, &e) || e.Phase != phase || !strings.Contains(e.Message, "sabotage") {
			t.Errorf("%s: %v; want it in phase %s", what, err, phase)
		}
		if b.has("/var/lib/hermes-box/bootstrap.json") {
			t.Errorf("%s: the bootstrap is recorded as complete", what)
		}
		// Settings that sshd rejects are removed.
		if b.has(guestfiles.SSHD) {
			t.Errorf("%s: the sshd settings are there", what)
		}
		b.sys.Fail = nil
		if out, err := b.Bootstrap(t.Context(), askFormat()); err != nil || !slices.Equal(b.formats(), []string{out.DataUUID}) {
			t.Errorf("%s: the next run: %+v, %v, formatted as %v", what, out, err, b.formats())
		}
	}
}

// If fstab has changed, systemd reads it again, even if the bootstrap was complete.
func TestBootstrapReloadsSystemdForFstab(t *testing.T) {
	b := newRoot(t, blankDisk)
	_, err := b.Bootstrap(t.Context(), askFormat())
	must(t, err)
	for _, changes := range []bool{false, true} {
		if changes {
			b.write("/etc/fstab", strings.Replace(b.read("/etc/fstab"), "x-systemd.device-timeout=60s", "x-systemd.device-timeout=5s", 1))
		}
		before := len(b.sys.Did())
		_, err = b.Bootstrap(t.Context(), askFormat())
		must(t, err)
		if did := b.sys.Did()[before:]; slices.Contains(did, "reload") != changes {
			t.Errorf("fstab changed %v: did %q", changes, did)
		}
	}
}

// Bootstrap also works on a machine whose kernel or programs cannot map the data disk.
func TestBootstrapWithoutMapper(t *testing.T) {
	b := newRoot(t, blankDisk)
	b.failAt("map /dev/vdb")
	out, err := b.Bootstrap(t.Context(), askFormat())
	must(t, err)
	if text := b.read("/etc/fstab"); !strings.Contains(text, "\nUUID="+out.DataUUID+" /data ext4 ") || strings.Contains(text, "mapper") {
		t.Error(text)
	}
}

func TestBootstrapWithoutKeys(t *testing.T) {
	for _, text := range []string{"", "\n", "# none\n"} {
		b := newRoot(t, blankDisk)
		b.write("/home/agent/.ssh/authorized_keys", text)
		if _, err := b.Bootstrap(t.Context(), askFormat()); codeOf(err) != "preflight_failed" {
			t.Errorf("keys %q: %v", text, err)
		}
		if len(b.formats()) != 0 {
			t.Error("the disk of a box without keys was formatted")
		}
	}
}

func TestBootstrapPackages(t *testing.T) {
	b := newRoot(t, blankDisk)
	b.write("/jq", "jq 1.7")
	must(t, b.sys.InstallPackages(t.Context(), []string{b.Path("/jq")}))
	content := "tree 2.2.1-1\n"
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	archive := "/var/lib/hermes-box/objects/sha256/" + sum
	b.write(archive, content)
	ask := askFormat()
	ask.Packages = []protocol.Package{{Name: "jq", Version: "1.7", Digest: "sha256:" + strings.Repeat("0", 64)},
		{Name: "tree", Version: "2.2.1-1", Digest: "sha256:" + sum}}
	out, err := b.Bootstrap(t.Context(), ask)
	if err != nil || !slices.Equal(out.Packages, []string{"tree"}) || !slices.Contains(b.sys.Did(), "install tree") {
		t.Fatalf("%+v, %v", out, err)
	}
	if b.has(archive) {
		t.Error("the archive is still there")
	}

	ask.Packages = append(ask.Packages, protocol.Package{Name: "gone", Version: "1", Digest: "sha256:" + strings.Repeat("1", 64)})
	if _, err := b.Bootstrap(t.Context(), ask); codeOf(err) != "integrity_failed" {
		t.Errorf("a package never received: %v", err)
	}
}

// The request is checked before anything is read or written.
func TestCheckBootstrap(t *testing.T) {
	for name, change := range map[string]func(*protocol.Bootstrap){
		"invalid box name":      func(b *protocol.Bootstrap) { b.Box = "Main" },
		"the root disk":         func(b *protocol.Bootstrap) { b.DataDevice = "/dev/vda" },
		"a device name with ..": func(b *protocol.Bootstrap) { b.DataDevice = "/dev/disk/by-id/../../vda" },
		"no device":             func(b *protocol.Bootstrap) { b.DataDevice = "" },
		"invalid UUID":          func(b *protocol.Bootstrap) { b.DataUUID = "x y" },
		"equal ports":           func(b *protocol.Bootstrap) { b.Ports.Dashboard = b.Ports.Executor },
		"port 0":                func(b *protocol.Bootstrap) { b.Ports.Executor = 0 },
	} {
		b := newRoot(t, blankDisk)
		var asked []string
		b.sys.Fail = func(what string) error { asked = append(asked, what); return nil }
		ask := askFormat()
		change(&ask)
		if _, err := b.Bootstrap(t.Context(), ask); codeOf(err) != "invalid_input" || len(asked) != 0 || len(b.events) != 0 || b.has("/var") {
			t.Errorf("%s: %v, asked the machine for %v, events %v", name, err, asked, b.events)
		}
	}
}
