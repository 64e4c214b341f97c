package guest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hermes-box/assets/guestfiles"
	"hermes-box/guest/protocol"
)

func askFormat() protocol.Bootstrap {
	return protocol.Bootstrap{Box: "main", DataDevice: "/dev/vdb", Format: true, Ports: protocol.Ports{Executor: 4788, Dashboard: 9119}}
}

func TestBootstrapFresh(t *testing.T) {
	g, p := newPretend(t)
	states := map[string]string{}
	g.Emit = func(e protocol.Event) { states[e.Phase] = e.State }
	out, err := g.Bootstrap(t.Context(), askFormat())
	if err != nil {
		t.Fatal(err)
	}
	if !out.Formatted || !uuid.MatchString(out.DataUUID) || !slices.Equal(p.formats, []string{out.DataUUID}) {
		t.Errorf("answer %+v, formatted as %v", out, p.formats)
	}
	if got := readFile(t, g.Path(uuidFile)); got != out.DataUUID+"\n" {
		t.Errorf("recorded UUID %q", got)
	}
	if _, err := os.Stat(g.Path(formatFile)); !os.IsNotExist(err) {
		t.Errorf("the intention to format is still recorded: %v", err)
	}
	table := readFile(t, g.Path(fstabFile))
	for _, want := range []string{"/dev/vda / ext4", "UUID=" + out.DataUUID + " /data ext4 noatime,nofail,",
		"/data/home/agent /home/agent none bind,nofail", "/data/home/agent/workspace /workspace none bind,nofail"} {
		if !strings.Contains(table, want) {
			t.Errorf("fstab has no %q:\n%s", want, table)
		}
	}
	if readFile(t, g.Path(keysFile)) != "ssh-ed25519 AAAA lima\n" {
		t.Error("the keys were not copied")
	}
	if readFile(t, g.Path("/home/agent/.config/a")) != "a\n" {
		t.Error("the home has no skeleton")
	}
	env := readFile(t, g.Path(environmentFile))
	for _, want := range []string{"no_proxy=localhost\n", "CLAUDE_CONFIG_DIR=/home/agent/.claude\n", "DISABLE_UPDATES=1\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("environment has no %q:\n%s", want, env)
		}
	}
	for _, f := range guestfiles.All() {
		info, err := os.Stat(g.Path(f.Path))
		if err != nil || info.Mode() != f.Mode {
			t.Errorf("%s: %v, %v", f.Path, info, err)
		}
	}
	for _, want := range []string{"user agent 1000 /home/agent", "loginctl enable-linger agent", "sshd -t",
		"chown /data/home/agent.new/.bashrc 1000:1000", "chown /data/home/agent/workspace 1000:1000",
		"enable hermes.service", "enable executor.service", "enable hermes-box-recovery.service"} {
		if !p.called(want) {
			t.Errorf("never called: %s", want)
		}
	}
	if slices.Index(p.calls, "sshd -t") > slices.Index(p.calls, "systemctl try-reload-or-restart ssh.service") {
		t.Error("sshd was reloaded before its settings were checked")
	}
	if states["format"] != protocol.Done || states["packages"] != protocol.Skipped || states["record"] != protocol.Done {
		t.Errorf("phases ended as %v", states)
	}
	h, err := g.Hello(t.Context())
	if err != nil || !h.Bootstrapped || h.DataUUID != out.DataUUID {
		t.Errorf("hello: %+v, %v", h, err)
	}
}

func TestBootstrapAgain(t *testing.T) {
	g, p := newPretend(t)
	first, err := g.Bootstrap(t.Context(), askFormat())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, g.Path("/home/agent/.bashrc"), "# mine\n")
	writeFile(t, g.Path("/home/agent/.ssh/authorized_keys"), "ssh-ed25519 PLANTED\n")
	ask := askFormat()
	ask.Ports.Executor = 5000
	second, err := g.Bootstrap(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if second.Formatted || second.DataUUID != first.DataUUID || len(p.formats) != 1 {
		t.Errorf("second run: %+v, formats %v", second, p.formats)
	}
	if readFile(t, g.Path(agentHome, ".bashrc")) != "# mine\n" {
		t.Error("the second run changed the home")
	}
	if strings.Contains(readFile(t, g.Path(keysFile)), "PLANTED") {
		t.Error("a key from the data disk may log in")
	}
	if !strings.Contains(readFile(t, g.Path(portsFile)), "EXECUTOR_PORT=5000") {
		t.Error("the new port was not recorded")
	}
}

// A fresh root over an old disk: rebuild.
func TestBootstrapOldDisk(t *testing.T) {
	g, p := newPretend(t)
	const id = "11111111-2222-4333-8444-555555555555"
	p.disk = Disk{Size: blankSize, Type: "ext4", UUID: id}
	writeFile(t, g.Path("/data/home/agent/kept"), "kept\n")
	ask := askFormat()
	ask.Format, ask.DataUUID = false, id
	out, err := g.Bootstrap(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if out.Formatted || out.DataUUID != id || readFile(t, g.Path("/home/agent/kept")) != "kept\n" {
		t.Errorf("answer %+v", out)
	}
	if _, err := os.Stat(g.Path("/home/agent/.bashrc")); !os.IsNotExist(err) {
		t.Error("the skeleton was put over an old home")
	}
}

func TestBootstrapRefusesDisk(t *testing.T) {
	const mine, other = "11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"
	ext4 := func(id string) Disk { return Disk{Size: blankSize, Type: "ext4", UUID: id} }
	blank := Disk{Size: blankSize, Blank: true}
	for _, c := range []struct {
		name     string
		disk     Disk
		format   bool
		asked    string
		recorded string
		intended string
		want     string
	}{
		{name: "someone's filesystem", disk: ext4(other), format: true, want: "not blank: it holds ext4 " + other},
		{name: "a partition table", disk: Disk{Size: blankSize, Type: "gpt partition table"}, format: true, want: "holds gpt partition table"},
		{name: "unknown data", disk: Disk{Size: blankSize}, format: true, want: "holds unknown data"},
		{name: "blank, not asked to", disk: blank, want: "formatting was not asked for"},
		{name: "another than asked for", disk: ext4(other), asked: mine, want: "instead of filesystem " + mine},
		{name: "asked for, but blank", disk: blank, format: true, asked: mine, want: "holds nothing instead of filesystem " + mine},
		{name: "formatted before, now blank", disk: blank, format: true, recorded: mine, want: "holds nothing instead of filesystem " + mine},
		{name: "formatted before, now another", disk: ext4(other), format: true, recorded: mine, want: "instead of filesystem " + mine},
		{name: "root and host differ", disk: ext4(mine), asked: mine, recorded: other, want: "this root belongs to filesystem " + other},
		{name: "ours by name, not ext4", disk: Disk{Size: blankSize, Type: "xfs", UUID: mine}, asked: mine, want: "holds xfs"},
		{name: "intended, but then someone's", disk: ext4(other), format: true, intended: mine, want: "not blank"},
		{name: "intended for a disk of another size", disk: Disk{Size: blankSize / 2}, format: true, intended: mine, want: "unknown data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, p := newPretend(t)
			p.disk = c.disk
			if c.recorded != "" {
				writeFile(t, g.Path(uuidFile), c.recorded+"\n")
			}
			if c.intended != "" {
				writeFile(t, g.Path(formatFile), fmt.Sprintf(`{"device":"/dev/vdb","size":%d,"uuid":%q}`, int64(blankSize), c.intended))
			}
			ask := askFormat()
			ask.Format, ask.DataUUID = c.format, c.asked
			_, err := g.Bootstrap(t.Context(), ask)
			if err == nil || !strings.Contains(err.Error(), c.want) || codeOf(err) != "integrity_failed" {
				t.Errorf("error %v (%s); want integrity_failed with %q", err, codeOf(err), c.want)
			}
			if len(p.formats) != 0 || len(p.mounts) != 0 {
				t.Errorf("formatted %v, mounted %v", p.formats, p.mounts)
			}
		})
	}
}

// Ended at any durable step, or in the middle of the formatting, the next run finishes, and the disk gets one
// filesystem with one UUID.
func TestBootstrapCrash(t *testing.T) {
	var steps int
	g, _ := newPretend(t)
	g.After = func(string) { steps++ }
	if _, err := g.Bootstrap(t.Context(), askFormat()); err != nil {
		t.Fatal(err)
	}
	if steps < 15 {
		t.Fatalf("only %d durable steps", steps)
	}
	for n := 1; n <= steps; n++ {
		g, p := newPretend(t)
		left, at := n, ""
		g.After = func(step string) {
			if left--; left == 0 {
				at = step
				runtime.Goexit()
			}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = g.Bootstrap(t.Context(), askFormat())
		}()
		<-done
		g.After = nil
		out, err := g.Bootstrap(t.Context(), askFormat())
		if err != nil {
			t.Errorf("after a crash at step %d (%s): %v", n, at, err)
			continue
		}
		if len(p.formats) != 1 || p.formats[0] != out.DataUUID {
			t.Errorf("after a crash at step %d (%s): formatted %v, answered %s", n, at, p.formats, out.DataUUID)
		}
	}

	g, p := newPretend(t)
	p.halfway = true
	p.fail["format"] = errors.New("power cut")
	if _, err := g.Bootstrap(t.Context(), askFormat()); err == nil {
		t.Fatal("no error from a failing format")
	}
	delete(p.fail, "format")
	out, err := g.Bootstrap(t.Context(), askFormat())
	if err != nil || !out.Formatted || !slices.Equal(p.formats, []string{out.DataUUID, out.DataUUID}) {
		t.Errorf("after half a format: %+v, %v, formats %v", out, err, p.formats)
	}
}

func TestBootstrapFailures(t *testing.T) {
	boom := errors.New("boom")
	for call, phase := range map[string]string{"user agent 1000 /home/agent": "user", "disk /dev/vdb": "format",
		"mount /data": "mount", "mount /home/agent": "mount", "sshd -t": "login", "enable hermes.service": "units"} {
		g, p := newPretend(t)
		p.fail[call] = boom
		_, err := g.Bootstrap(t.Context(), askFormat())
		var e *protocol.Error
		if !errors.As(err, &e) || e.Phase != phase || !strings.Contains(e.Message, "boom") {
			t.Errorf("%s: %v; want it in phase %s", call, err, phase)
		}
		if h, err := g.Hello(t.Context()); err != nil || h.Bootstrapped {
			t.Errorf("%s: hello says %+v, %v", call, h, err)
		}
		// Settings that sshd refuses do not stay.
		if _, err := os.Stat(g.Path(guestfiles.SSHD)); !os.IsNotExist(err) {
			t.Errorf("%s: the sshd settings are there: %v", call, err)
		}
	}
}

func TestBootstrapWithoutKeys(t *testing.T) {
	for _, text := range []string{"", "\n", "# none\n"} {
		g, p := newPretend(t)
		writeFile(t, g.Path("/home/agent/.ssh/authorized_keys"), text)
		if _, err := g.Bootstrap(t.Context(), askFormat()); codeOf(err) != "preflight_failed" {
			t.Errorf("keys %q: %v", text, err)
		}
		if len(p.formats) != 0 {
			t.Error("formatted a box nobody can log in to")
		}
	}
}

func TestBootstrapPackages(t *testing.T) {
	g, p := newPretend(t)
	content := "tree 2.2.1-1\n"
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	archive := g.Path(objectsDir, "sha256", sum)
	writeFile(t, archive, content)
	p.packages["jq"] = "1.7"
	ask := askFormat()
	ask.Packages = []protocol.Package{{Name: "jq", Version: "1.7", Digest: "sha256:" + strings.Repeat("0", 64)},
		{Name: "tree", Version: "2.2.1-1", Digest: "sha256:" + sum}}
	out, err := g.Bootstrap(t.Context(), ask)
	if err != nil || !slices.Equal(out.Packages, []string{"tree"}) || !p.called("install 1") {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := os.Stat(archive); !os.IsNotExist(err) {
		t.Error("the archive is still there")
	}

	ask.Packages = append(ask.Packages, protocol.Package{Name: "gone", Version: "1", Digest: "sha256:" + strings.Repeat("1", 64)})
	if _, err := g.Bootstrap(t.Context(), ask); codeOf(err) != "integrity_failed" {
		t.Errorf("a package never received: %v", err)
	}
}

func TestCheckBootstrap(t *testing.T) {
	for name, change := range map[string]func(*protocol.Bootstrap){
		"box name":      func(b *protocol.Bootstrap) { b.Box = "Main" },
		"the root disk": func(b *protocol.Bootstrap) { b.DataDevice = "/dev/vda" },
		"a path":        func(b *protocol.Bootstrap) { b.DataDevice = "/dev/disk/by-id/../../vda" },
		"no device":     func(b *protocol.Bootstrap) { b.DataDevice = "" },
		"uuid":          func(b *protocol.Bootstrap) { b.DataUUID = "x y" },
		"equal ports":   func(b *protocol.Bootstrap) { b.Ports.Dashboard = b.Ports.Executor },
		"no port":       func(b *protocol.Bootstrap) { b.Ports.Executor = 0 },
	} {
		g, p := newPretend(t)
		ask := askFormat()
		change(&ask)
		if _, err := g.Bootstrap(context.Background(), ask); codeOf(err) != "invalid_input" || len(p.calls) != 0 {
			t.Errorf("%s: %v, calls %v", name, err, p.calls)
		}
	}
}
