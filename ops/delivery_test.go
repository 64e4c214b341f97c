package ops

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops/artifact"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
	"hermes-box/ops/store"
)

// guestScript is a box whose ssh runs commands on this machine, where the guest's helper is the file bin/guest in the
// directory that is returned. Its first text is a shell script.
func guestScript(t *testing.T, script string) (*Box, string) {
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
	write("bin/sudo", "#!/bin/sh\nshift\nexec \"$@\"\n")
	write("bin/guest", script)
	write("home/lima/main/ssh.config", "")
	ssh := write("bin/ssh", fmt.Sprintf("#!/bin/bash\nfor remote; do :; done\nexport PATH=%[1]s/bin:$PATH DIR=%[1]s\neval \"${remote//%[2]s/%[1]s/bin/guest}\"\n",
		dir, strings.ReplaceAll(protocol.HelperPath, "/", `\/`)))
	home, err := store.Open(filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	return &Box{
		Host: &Host{Dir: string(home), Lima: limactl.New(limactl.Config{Home: home.Lima(), SSH: ssh}), Helper: func(string) ([]byte, error) { return []byte(script), nil }},
		Home: home, Config: &config.Config{Name: "main"}, Record: &store.Record{Name: "main", Instance: "main", Ready: true},
	}, dir
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// What the guest has received already is not sent again, neither after an operation that was cut off nor twice in one.
func TestSendSendsWhatTheGuestLacks(t *testing.T) {
	const script = `#!/bin/sh
case $1 in
hello) printf '{"result":{"protocol":%d,"helper":"sha256:%s","objects":["%s"]}}\n' $(cat $DIR/protocol) $(sha256sum <$0 | cut -d' ' -f1) $(cat $DIR/has) ;;
receive) tar t >>$DIR/received; echo '{"result":{"objects":1,"bytes":1}}' ;;
esac
`
	b, dir := guestScript(t, script)
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
	put(t, filepath.Join(dir, "has"), wanted[1].Digest)
	put(t, filepath.Join(dir, "protocol"), fmt.Sprint(protocol.Version))
	d := b.deliver(nil, cache)
	for range 2 {
		if err := d.send(t.Context(), []string{wanted[0].Digest, wanted[1].Digest, wanted[2].Digest}, nil); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := os.ReadFile(filepath.Join(dir, "received"))
	want := strings.ReplaceAll(wanted[0].Digest+"\n"+wanted[2].Digest+"\n", ":", "/")
	if string(got) != want {
		t.Errorf("received:\n%swant:\n%s", got, want)
	}
}

// The helper of another version is replaced before anything is sent to it, by as many at once as there are: each writes
// a file of its own, and none of them is left.
func TestHelperOfAnotherVersionIsReplaced(t *testing.T) {
	const script = `#!/bin/sh
case $1 in
hello) printf '{"result":{"protocol":%s,"helper":"sha256:%s","objects":[]}}\n' ` + "VERSION" + ` $(sha256sum <$0 | cut -d' ' -f1) ;;
signed-in) echo '{"result":{"sign_ins":[]}}' ;;
esac
`
	ours := strings.Replace(script, "VERSION", fmt.Sprint(protocol.Version), 1)
	b, dir := guestScript(t, "#!/bin/sh\ncase $1 in hello) echo '{\"result\":{\"protocol\":1,\"gone\":true}}' ;; *) echo old >>$DIR/asked; exit 2 ;; esac\n")
	b.Helper = func(arch string) ([]byte, error) {
		if arch != runtime.GOARCH {
			t.Errorf("helper for %s", arch)
		}
		return []byte(ours), nil
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			one := *b
			one.journal = newJournal(b.Home, "main", "login") // as with the lock held: the lock itself is tried below
			if err := one.askUpgrading(t.Context(), protocol.VerbSignedIn, nil, &protocol.SignedIn{}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if asked, err := os.ReadFile(filepath.Join(dir, "asked")); err == nil {
		t.Errorf("the old helper was asked: %s", asked)
	}
	entries, _ := os.ReadDir(filepath.Join(dir, "bin"))
	for _, e := range entries {
		if strings.Contains(e.Name(), ".new") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// Signing in does not replace the helper beside an operation that changes the box.
func TestHelperIsReplacedUnderTheLock(t *testing.T) {
	b, dir := guestScript(t, "#!/bin/sh\nexit 2\n")
	b.Helper = func(string) ([]byte, error) { return []byte("#!/bin/sh\necho new\n"), nil }
	held, err := b.Home.Lock("main", "stop")
	if err != nil {
		t.Fatal(err)
	}
	err = b.askUpgrading(t.Context(), protocol.VerbSignedIn, nil, nil, nil)
	if fault.CodeOf(err) != fault.Busy {
		t.Errorf("beside a stop: %v", err)
	}
	if now, _ := os.ReadFile(filepath.Join(dir, "bin", "guest")); strings.Contains(string(now), "new") {
		t.Error("it was replaced beside a stop")
	}
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	_ = b.askUpgrading(t.Context(), protocol.VerbSignedIn, nil, nil, nil)
	if now, _ := os.ReadFile(filepath.Join(dir, "bin", "guest")); !strings.Contains(string(now), "new") {
		t.Errorf("it was not replaced: %s", now)
	}
}
