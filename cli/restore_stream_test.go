package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/ops"
)

// makeLargeBox makes a box with 30 MB of data, makes a backup and destroys the box.
func (m *machine) makeLargeBox() (id, data string) {
	m.t.Helper()
	m.makeBox()
	m.must("exec", "--", "sh", "-c", "head -c 30000000 /dev/urandom >/data/home/agent/large")
	data = m.largeSum()
	id = m.backupID()
	m.must("destroy", "--force", "--quiet")
	return id, data
}

func (m *machine) largeSum() string {
	return m.must("exec", "--", "sha256sum", "/data/home/agent/large")
}

// wantRestorable restores the backup that makeLargeBox made, and fails unless the sha256sum of the restored file is
// data, which makeLargeBox returned.
func (m *machine) wantRestorable(id, data, after string) {
	m.t.Helper()
	m.must("restore", id, "--quiet", "--mirror", m.mirror)
	if got := m.largeSum(); got != data {
		m.t.Errorf("restored after %s: %s, want %s", after, got, data)
	}
	m.wantSound("a restore after " + after)
}

// inputCutter replaces ssh with a script that can cut the input of "hermes-box-guest channel". After a call of cut,
// the script passes on no more than the given number of bytes, then runs the shell command then, and ends the input.
// If the real ssh fails, the script exits with the given status. A call of whole ends the cutting. Tests give a number
// of bytes that only the data of a large backup exceeds.
func (m *machine) inputCutter() (cut func(bytes int, then, status string), whole func()) {
	m.t.Helper()
	path := filepath.Join(m.dir, "cut")
	m.script("ssh", `case "$*" in
*"sudo -n "*"hermes-box-guest channel"*) test ! -f `+path+` || exec bash `+path+` $REAL "$@";;
esac
exec $REAL "$@"`)
	return func(bytes int, then, status string) {
			m.write("cut", fmt.Appendf(nil, `real=$1; shift; exec 3<&0
"$real" "$@" < <(dd bs=64k iflag=count_bytes count=%d status=none <&3 2>/dev/null; %s)
s=$?; kill $! 2>/dev/null; [ $s = 0 ] || exit %s
`, bytes, then, status))
		}, func() {
			if err := os.Remove(path); err != nil {
				m.t.Fatal(err)
			}
		}
}

// signalAt runs a command, sends it a signal at the first event for which at returns true, and waits for its end. It
// returns the exit status, and whether there was such an event.
func (m *machine) signalAt(sig syscall.Signal, at func(ops.Event) bool, args ...string) (status int, sent bool) {
	m.t.Helper()
	c := m.cmd("", append(args, "--events")...)
	stderr, err := c.StderrPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	for dec := json.NewDecoder(stderr); ; {
		var e ops.Event
		if dec.Decode(&e) != nil {
			break
		}
		if !sent && at(e) {
			sent = true
			c.Process.Signal(sig)
		}
	}
	c.Wait()
	return c.ProcessState.ExitCode(), sent
}

// If restore is killed at any byte of the data that it sends, the next command removes what it has made, and the same
// restore works.
func TestRestoreKilledWithinTheStream(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	id, want := m.makeLargeBox()
	kept := m.inventory()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	const rounds = 5
	t.Logf("seed %d, %d rounds", seed, rounds)
	for range rounds {
		at := random.Int64N(30000000)
		_, killed := m.signalAt(syscall.SIGKILL, func(e ops.Event) bool {
			return e.Step == "unpack" && (e.Kind == ops.Bytes && e.Done >= at || e.Kind == ops.Done)
		}, "restore", id, "--mirror", m.mirror)
		if !killed || !slices.Contains(m.inventory(), "vm main") {
			t.Fatalf("the kill at byte %d came too early or too late: the inventory is %v", at, m.inventory())
		}
		m.run("start", "--quiet")
		if remaining := m.inventory(); !slices.Equal(remaining, kept) {
			t.Fatalf("killed after %d bytes, remaining: %v", at, remaining)
		}
	}
	m.wantRestorable(id, want, "killed restores")
}

// If the connection ends while the data is sent, restore fails and removes what it has made, even if ssh reports
// success.
func TestRestoreWithoutAConnection(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	id, want := m.makeLargeBox()
	kept := m.inventory()
	cut, whole := m.inputCutter()
	for _, status := range []string{"255", "0"} {
		for _, bytes := range []int{5_000_000, 20_000_000} { // only the stream of the backup is that long
			cut(bytes, ":", status)
			out, stderr, err := m.run("restore", id, "--json", "--mirror", m.mirror)
			if err == nil || !strings.Contains(out, `"ok":false`) {
				t.Errorf("cut after %d bytes with status %s: %v %s %s", bytes, status, err, out, stderr)
			}
			if remaining := m.inventory(); !slices.Equal(remaining, kept) {
				t.Fatalf("cut after %d bytes with status %s, remaining: %v", bytes, status, remaining)
			}
		}
	}
	whole()
	m.wantRestorable(id, want, "lost connections")
}

// A restore that is interrupted, even while it sends the data, removes what it has made.
func TestRestoreInterrupted(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	id, _ := m.makeLargeBox()
	kept := m.inventory()
	for _, step := range []string{"check", "boot", "unpack", "install"} {
		code, _ := m.signalAt(syscall.SIGINT, func(e ops.Event) bool { return e.Kind == ops.Started && e.Step == step }, "restore", id, "--mirror", m.mirror)
		if code != exitInterrupted {
			t.Errorf("interrupted at %s: exit %d", step, code)
		}
		if remaining := m.inventory(); !slices.Equal(remaining, kept) {
			t.Errorf("interrupted at %s, remaining: %v", step, remaining)
		}
	}
	m.must("backup", "verify", id)
}
