package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"hermes-box/guest/protocol/tree"
	"hermes-box/internal/race"
	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/ops/keys"
)

// onLinux skips a test on other systems, since backups need Linux.
func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: backups need Linux")
	}
}

// backupID makes a backup and returns its id.
func (m *machine) backupID() string {
	m.t.Helper()
	return decode[ops.BackupMade](m.t, m.must("backup", "--json")).Result.ID
}

// makeOddBox makes a box whose home has files of many kinds, one with a name that is not UTF-8.
func (m *machine) makeOddBox() {
	m.t.Helper()
	m.makeBox()
	m.must("exec", "--", "sh", "-c", `cd /data/home/agent && mkdir -p 'odd/a b' odd/empty && cd odd &&
printf 1 >"$(printf '\377\nx')" && printf 2 >"$(printf 'caf\303\251')" && printf 3 >"$(printf '%0255d' 0)" &&
ln -s '/no where' dangling && ln "$(printf 'caf\303\251')" 'a b/hard' && mkfifo pipe && chmod 4711 'a b/hard' &&
head -c 3000000 /dev/zero | tr '\0' x >large && truncate -s 1G hole && touch -d '2001-02-03 04:05:06.789' large empty`)
}

// homeTree lists the files that makeOddBox has made: type, mode, links, size, time, target and name, and then the
// digests of the regular files of at most 8 MiB.
func (m *machine) homeTree() string {
	m.t.Helper()
	return m.must("exec", "--", "sh", "-c", `cd /data/home/agent && find odd sentinel -printf '%y %m %n %s %T@ %l %p\0' | sort -z &&
find odd sentinel -type f -size -9M -print0 | sort -z | xargs -0 sha256sum -z`)
}

// pool returns the pool of a machine's box, opened with the key in its file.
func (m *machine) pool() *backup.Pool {
	m.t.Helper()
	identities, err := keys.ReadIdentities(filepath.Join(m.dir, "home/keys/main.age-identity"))
	if err != nil {
		m.t.Fatal(err)
	}
	p, err := backup.Open(filepath.Join(m.dir, "home/backups/main"), identities...)
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

func TestRestoreBringsBackEveryFile(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeOddBox()
	want := m.homeTree()
	if !strings.Contains(want, "odd/\xff\nx\x00") || !strings.Contains(want, "f 4711 2 ") {
		t.Fatalf("the box does not have the odd files: %q", want)
	}
	id := m.backupID()
	m.must("exec", "--", "sh", "-c", "echo later >/data/home/agent/odd/later")
	m.must("destroy", "--force", "--quiet")
	out := m.must("restore", id, "--quiet", "--mirror", m.mirror)
	for _, text := range []string{"✓ box main is restored", id, "all compared with the backup", "both have the same logins"} {
		if !strings.Contains(out, text) {
			t.Errorf("restore does not print %q: %s", text, out)
		}
	}
	if got := m.homeTree(); got != want {
		t.Errorf("restored:\n%q\nwant:\n%q", got, want)
	}
	m.wantSound("a restore")
	if out := m.must("status", "--json"); strings.Contains(out, `"drift"`) {
		t.Errorf("status after a restore: %s", out)
	}
	m.must("restart", "--quiet") // the mounts and the services survive a boot
	m.wantSound("a restart after a restore")
	if again := m.backupID(); again == id {
		t.Error("the backup of the restored box has the id of the old one")
	}
	m.must("backup", "verify", id)
}

// If restore is killed after any of its steps but the last, the next command removes what it has made, and the same
// restore works. After the last step the box is complete, and the next command keeps it.
func TestKilledRestoreIsUndone(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	foreign := m.makeForeign()
	m.makeBox()
	id := m.backupID()
	restore := []string{"restore", id, "--mirror", m.mirror}
	m.must("destroy", "--force", "--quiet")
	steps := m.steps(restore...)
	if want := []string{"open", "preflight", "check", "image", "fetch", "key", "claim", "disk", "vm", "boot", "helper", "format", "unpack", "bootstrap", "upload", "install", "verify", "finish"}; !slices.Equal(steps, want) {
		t.Fatalf("the plan is %v, want %v", steps, want)
	}
	m.wantSound("a restore")
	m.must("destroy", "--force", "--quiet")
	kept := m.inventory() // the key too
	if want := append([]string{"key main.age-identity", "key main.json"}, foreign...); !slices.Equal(kept, want) {
		t.Fatalf("after destroy: %v", kept)
	}
	for _, step := range race.Sample(steps, 3) {
		m.killAfter(step, restore...)
		cut := m.inventory()
		switch {
		case step == "finish": // the box is complete, only the journal is still open
			m.must("start", "--quiet")
			m.wantSound("a restore that was killed after its last step")
			m.must("destroy", "--force", "--quiet")
		case step == "unpack": // destroy undoes it too
			if out := m.must("destroy", "--force"); !strings.Contains(out, "removed what an interrupted restore of box main had left") {
				t.Errorf("destroy: %s", out)
			}
		default:
			if out, _, err := m.run("start", "--json"); err == nil || !strings.Contains(out, `"code":"not_found"`) {
				t.Errorf("start after a restore was killed at %s: %v %s", step, err, out)
			}
		}
		if made := slices.Index(steps, "key") <= slices.Index(steps, step); made == slices.Equal(cut, kept) {
			t.Errorf("killed after %s, remaining: %v", step, cut)
		}
		if remaining := m.inventory(); !slices.Equal(remaining, kept) {
			t.Fatalf("killed after %s, recovered, remaining: %v (was %v)", step, remaining, cut)
		}
	}
	m.killAfter("install", restore...)
	m.must(append(restore, "--quiet")...) // one restore undoes the killed one and makes the box
	m.wantSound("a restore that was killed at install")
	m.must("backup", "verify", id)
}

// A restore that cannot work for one of the reasons below is refused before it makes anything.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeBox()
	id := m.backupID()
	foreign := m.foreignArch()
	refused := func(code, text string, args ...string) {
		t.Helper()
		before := m.inventory()
		out, _, err := m.run(append([]string{"restore", "--json", "--mirror", m.mirror}, args...)...)
		if a := decode[any](t, out); err == nil || a.Error.Code != code || !strings.Contains(a.Error.Message, text) || a.Error.Recovery == "" {
			t.Errorf("restore %q: %v %s", args, err, out)
		}
		if after := m.inventory(); !slices.Equal(before, after) {
			t.Errorf("restore %q has changed %v to %v", args, before, after)
		}
	}
	refused("already_exists", "exists already", id)
	m.must("stop", "--quiet")
	refused("already_exists", "exists already", id)
	m.must("destroy", "--force", "--quiet")

	refused("not_found", `there is no backup "20200101T000000Z-"`, "20200101T000000Z-")
	refused("not_found", `there is no backup and no file "nothing"`, "nothing")
	refused("preflight_failed", "is of a box for riscv64", foreign)
	refused("not_found", "there is no file", id, "--identity", "no-such-file")
	stranger, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	m.write("stranger.age", []byte(stranger.String()+"\n"))
	refused("integrity_failed", "is for other recipients", id, "--identity", "stranger.age")
	refused("invalid_input", "no lock file", id, "--lock", "no-such.lock")
	text, err := os.ReadFile(filepath.Join(m.dir, "hermes-box.lock"))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte("digest: sha256:")) + len("digest: sha256:")
	if text[at]++; text[at] > '9' {
		text[at] = '0'
	}
	m.write("unknown.lock", text) // no source has this artifact
	refused("integrity_failed", "", id, "--lock", "unknown.lock")

	config, err := os.ReadFile(filepath.Join(m.dir, "hermes-box.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m.write("hermes-box.yaml", append(slices.Clone(config), "vm: {data_disk: 1GiB}\n"...))
	m.must("restore", id, "--quiet", "--mirror", m.mirror) // the small data disk has room for the backup
	m.must("exec", "--", "sh", "-c", "head -c 100000 /dev/urandom >/data/home/agent/work")
	id = m.backupID()
	m.must("destroy", "--force", "--quiet")
	m.write("hermes-box.yaml", config)
	m.damageChunks()
	refused("integrity_failed", "is damaged", id)
	if err := os.Remove(filepath.Join(m.dir, "home/keys/main.age-identity")); err != nil {
		t.Fatal(err)
	}
	refused("not_found", `the identity of box "main" is missing`, id)
}

// foreignArch adds a backup of a box of another architecture to the pool, and returns its id.
func (m *machine) foreignArch() string {
	m.t.Helper()
	var stream bytes.Buffer
	w, err := tree.NewWriter(&stream, tree.Header{Version: tree.Version, Arch: "riscv64"})
	if err != nil {
		m.t.Fatal(err)
	}
	root := &tree.Entry{Path: []byte("."), Type: tree.Dir, Mode: 0o755}
	if err := w.Entry(root); err != nil {
		m.t.Fatal(err)
	}
	if _, err := w.End(); err != nil {
		m.t.Fatal(err)
	}
	env, err := m.pool().Write(context.Background(), &stream, backup.Meta{Box: "main", Label: "riscv"}, nil, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return env.ID
}

// damageChunks changes the last byte of each chunk of the box's backups.
func (m *machine) damageChunks() {
	m.t.Helper()
	chunks, err := filepath.Glob(filepath.Join(m.dir, "home/backups/main/chunks/*/*.age"))
	if err != nil || len(chunks) == 0 {
		m.t.Fatal("there are no chunks", err)
	}
	for _, path := range chunks {
		data, err := os.ReadFile(path)
		if err != nil {
			m.t.Fatal(err)
		}
		data[len(data)-1] ^= 1
		if err := os.WriteFile(path, data, 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
}

// On another machine a copy of the backups and the exported key are enough. The new box gets a key of its own; the old
// key still opens the backups.
func TestRestoreOnAnotherMachine(t *testing.T) {
	t.Parallel()
	onLinux(t)
	old := newMachine(t)
	old.makeOddBox()
	want := old.homeTree()
	id := old.backupID()
	exported := filepath.Join(old.dir, "exported")
	old.must("key", "export", exported, "--quiet")

	m := newMachine(t)
	pool := filepath.Join(m.dir, "home/backups/main")
	if err := os.CopyFS(pool, os.DirFS(filepath.Join(old.dir, "home/backups/main"))); err != nil {
		t.Fatal(err)
	}
	before := recipients(t, pool)
	if err := os.Remove(filepath.Join(m.dir, "hermes-box.lock")); err != nil {
		t.Fatal(err)
	}
	restore := []string{"restore", id, "--mirror", m.mirror}
	out, _, err := m.run(append(restore, "--json")...)
	if a := decode[any](t, out); err == nil || a.Error.Code != "not_found" || !strings.Contains(a.Error.Recovery, "restore "+id+" --identity FILE") {
		t.Errorf("restore without the key: %v %s", err, out)
	}
	restore = append(restore, "--identity", exported)
	for _, step := range []string{"key", "boot"} { // destroy puts back the old list of recipients
		m.killAfter(step, restore...)
		m.must("destroy", "--force", "--quiet")
		if got := recipients(t, pool); got != before {
			t.Errorf("killed after %s, the recipients are %s, want %s", step, got, before)
		}
		if left := m.inventory(); len(left) > 0 {
			t.Errorf("killed after %s, remaining: %v", step, left)
		}
	}
	done := decode[ops.Restored](t, m.must(append(restore, "--json")...)).Result
	if done.LockFile == "" || done.Key == nil || strings.Contains(before, done.Key.Recipient) {
		t.Errorf("%+v", done)
	}
	if got := m.homeTree(); got != want {
		t.Errorf("restored:\n%q\nwant:\n%q", got, want)
	}
	m.wantSound("a restore on another machine")
	m.must("backup", "verify", id) // with the new key
	identities, err := keys.ReadIdentities(exported)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Open(pool, identities...); err != nil {
		t.Errorf("the old key: %v", err)
	}
	m.must("start", "--quiet") // the lock that restore wrote is the one that is installed
	if out := m.must("status", "--json"); strings.Contains(out, `"drift"`) {
		t.Errorf("status: %s", out)
	}
}

// recipients returns the recipients of a pool as JSON.
func recipients(t *testing.T, pool string) string {
	t.Helper()
	list, err := backup.ReadRecipients(pool)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
