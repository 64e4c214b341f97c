package ops

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hermes-box/guest"
	"hermes-box/guest/durable"
	"hermes-box/guest/protocol"
	guestserve "hermes-box/guest/serve"
	"hermes-box/internal/rehearsal/simulate"
	"hermes-box/limactl"
	"hermes-box/ops/artifact"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
	"hermes-box/ops/store"
)

// guestVariable names the environment variable with the directory of the guest. If it is set, this test program is the
// helper of that guest.
const guestVariable = "HERMES_BOX_OPS_TEST_GUEST"

// TestMain runs the tests, or the helper of a guest if guestVariable is set.
func TestMain(m *testing.M) {
	if root := os.Getenv(guestVariable); root != "" {
		os.Exit(guestserve.Helper{Root: true, Open: func(string) *guest.Guest {
			return &guest.Guest{Tree: durable.Tree{Root: root}, Machine: simulate.Open(root), Helper: filepath.Join(root, "../bin/guest")}
		}}.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// realHelper returns a script that runs the real helper on the directory $DIR/guest.
func realHelper(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return "#!/bin/sh\n" + guestVariable + "=$DIR/guest exec " + program + " \"$@\"\n"
}

// oldHelper is a helper that does not know the verb "channel". It records the other verbs that it is called with.
const oldHelper = "#!/bin/sh\n[ \"$1\" = channel ] || echo \"$1\" >>$DIR/asked\necho 'usage: hermes-box-guest VERB' >&2\nexit 2\n"

// boxWith returns a box whose ssh runs commands on this machine, and the directory of its files. helper and ours are
// scripts: helper is in the guest, as the file bin/guest of the directory, and ours is the helper that the host
// carries.
func boxWith(t *testing.T, helper, ours string) (*Box, string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// Replace the helper's path in all commands, since this machine may have a real helper.
	write("bin/sudo", fmt.Sprintf("#!/bin/bash\nshift\nargs=()\nfor a; do args+=(\"${a//%s/%s/bin/guest}\"); done\nexec \"${args[@]}\"\n",
		strings.ReplaceAll(protocol.HelperPath, "/", `\/`), dir))
	write("bin/guest", helper)
	write("guest/etc/os-release", "")
	write("home/lima/main/ssh.config", "")
	ssh := write("bin/ssh", fmt.Sprintf("#!/bin/bash\nfor remote; do :; done\nexport PATH=%[1]s/bin:$PATH DIR=%[1]s\neval \"${remote//%[2]s/%[1]s/bin/guest}\"\n",
		dir, strings.ReplaceAll(protocol.HelperPath, "/", `\/`)))
	home, err := store.Open(filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	lima := limactl.New(limactl.Config{Home: home.Lima(), SSH: ssh, Helper: protocol.HelperPath})
	return &Box{
		Host: &Host{Dir: string(home), Lima: lima, Helper: func(string) ([]byte, error) { return []byte(ours), nil }},
		Home: home, Config: &config.Config{Name: "main"}, Record: &store.Record{Name: "main", Instance: "main", Ready: true},
	}, dir
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Artifacts that the guest already has are not sent again, neither in the next operation nor twice in the same one.
func TestSendOnlyWhatTheGuestLacks(t *testing.T) {
	b, dir := boxWith(t, realHelper(t), realHelper(t))
	mirror := filepath.Join(dir, "mirror")
	var wanted []lock.Artifact
	for _, text := range []string{"one", "two", "three"} {
		digest := digestOf(text)
		if err := os.MkdirAll(filepath.Join(mirror, "sha256"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(mirror, "sha256", strings.TrimPrefix(digest, "sha256:")), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		wanted = append(wanted, lock.Artifact{Name: text, URL: "https://nowhere.invalid/" + text, Size: int64(len(text)), Digest: digest})
	}
	cache, err := artifact.Open(filepath.Join(dir, "artifacts"), artifact.Options{Mirrors: []string{mirror}})
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Fetch(t.Context(), wanted, nil); err != nil {
		t.Fatal(err)
	}
	d := b.deliver(nil, cache)
	if err := d.send(t.Context(), []string{wanted[1].Digest}, nil); err != nil {
		t.Fatal(err)
	}
	object := func(a lock.Artifact) string {
		return filepath.Join(dir, "guest", protocol.StateDir, "objects", strings.ReplaceAll(a.Digest, ":", "/"))
	}
	before, err := os.Stat(object(wanted[1]))
	if err != nil {
		t.Fatal(err)
	}
	again := b.deliver(nil, cache)
	for range 2 {
		if err := again.send(t.Context(), []string{wanted[0].Digest, wanted[1].Digest, wanted[2].Digest}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range wanted {
		if text, err := os.ReadFile(object(a)); err != nil || digestOf(string(text)) != a.Digest {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
	if after, err := os.Stat(object(wanted[1])); err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("an artifact that the guest had was sent again: %v", err)
	}
}

// Another version's helper is replaced before it gets any request, and no temporary file is left.
func TestHelperOfAnotherVersionIsReplaced(t *testing.T) {
	ours := realHelper(t)
	b, dir := boxWith(t, oldHelper, ours)
	b.Helper = func(arch string) ([]byte, error) {
		if arch != runtime.GOARCH {
			t.Errorf("helper for %s", arch)
		}
		return []byte(ours), nil
	}
	if err := b.askUpgrading(t.Context(), protocol.VerbSignedIn, nil, &protocol.SignedIn{}, nil); err != nil {
		t.Error(err)
	}
	if asked, err := os.ReadFile(filepath.Join(dir, "asked")); err == nil {
		t.Errorf("the old helper got requests: %s", asked)
	}
	entries, _ := os.ReadDir(filepath.Join(dir, "bin"))
	for _, e := range entries {
		if strings.Contains(e.Name(), ".new") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// Signing in does not replace the helper while an operation holds the lock of the box.
func TestHelperIsReplacedUnderTheLock(t *testing.T) {
	b, dir := boxWith(t, oldHelper, "#!/bin/sh\necho new\n")
	held, err := b.Home.Lock("main", "stop")
	if err != nil {
		t.Fatal(err)
	}
	err = b.askUpgrading(t.Context(), protocol.VerbSignedIn, nil, nil, nil)
	if fault.CodeOf(err) != fault.Busy {
		t.Errorf("during a stop: %v, want busy", err)
	}
	if now, _ := os.ReadFile(filepath.Join(dir, "bin", "guest")); strings.Contains(string(now), "new") {
		t.Error("the helper was replaced during a stop")
	}
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	_ = b.askUpgrading(t.Context(), protocol.VerbSignedIn, nil, nil, nil)
	if now, _ := os.ReadFile(filepath.Join(dir, "bin", "guest")); !strings.Contains(string(now), "new") {
		t.Errorf("the helper was not replaced after the stop: %s", now)
	}
}
