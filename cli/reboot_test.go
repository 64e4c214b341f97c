package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// rebootVariable names the step after which hermes-box reboots an instance, and that instance.
const rebootVariable = "HERMES_BOX_CLI_TEST_REBOOT"

// reboot reboots an instance and waits until logins are possible again. It does nothing if the instance does not run.
func reboot(lima, instance string) {
	boot := func() string {
		id, _ := os.ReadFile(filepath.Join(lima, instance, "boot"))
		return string(id)
	}
	before := boot()
	if before == "" {
		return
	}
	if err := rebootBeside([]string{"ssh", "-F", filepath.Join(lima, instance, "ssh.config"), "lima-" + instance}); err != nil {
		panic(err)
	}
	for deadline := time.Now().Add(30 * time.Second); boot() == before || boot() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			panic("the box does not reboot")
		}
	}
}

// rebootBeside runs reboot in the box that an ssh with these arguments connects to. It does not wait for the reboot.
func rebootBeside(ssh []string) error {
	at := slices.Index(ssh, "-F")
	config := ssh[at+1]
	out, err := exec.Command(ssh[0], "-F", config, "lima-"+filepath.Base(filepath.Dir(config)), "sudo", "-n", "reboot").CombinedOutput()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 255 { // the reboot ended the session first
		return nil
	}
	if err != nil {
		return fmt.Errorf("reboot: %w: %s", err, out)
	}
	return nil
}

// rebooted runs a command, and reboots an instance after a step of that command.
func (m *machine) rebooted(step, instance string, args ...string) (out string, err error) {
	m.t.Helper()
	c := m.cmd("", append(args, "--json")...)
	c.Env = append(c.Env, rebootVariable+"="+step+" "+instance)
	text, err := c.Output()
	return string(text), err
}

// If the box reboots after any step of its restore, beginning with boot, restore either fails and removes what it has
// made, or makes the box with every file. The same restore then works.
func TestRestoreOfABoxThatReboots(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeOddBox()
	want := m.homeTree()
	id := m.backupID()
	restore := []string{"restore", id, "--mirror", m.mirror}
	m.must("destroy", "--force", "--quiet")
	steps := m.steps(restore...)
	m.must("destroy", "--force", "--quiet")
	kept := m.inventory()
	failed := []string{}
	for _, step := range steps[slices.Index(steps, "boot"):] {
		out, err := m.rebooted(step, "main", restore...)
		if err != nil {
			failed = append(failed, step)
			if a := decode[any](t, out); a.Error.Message == "" || !slices.Equal(m.inventory(), kept) {
				t.Errorf("rebooted after %s: %s; remaining: %v", step, out, m.inventory())
			}
			continue
		}
		if got := m.homeTree(); got != want {
			t.Errorf("rebooted after %s, restored:\n%q\nwant:\n%q", step, got, want)
		}
		m.wantSound("a restore whose box rebooted after " + step)
		m.must("destroy", "--force", "--quiet")
	}
	t.Logf("rebooted after each of %d steps; restore failed after %v", len(steps)-slices.Index(steps, "boot"), failed)
	if !slices.Contains(failed, "format") { // the data disk is not mounted then
		t.Error("the files were restored although the data disk was not mounted")
	}
	m.must(append(restore, "--quiet")...)
	m.wantSound("a restore after reboots")
	m.must("backup", "verify", id)
}

// If the box reboots while it gets the data of a backup, restore fails and removes what it has made, and the same
// restore works.
func TestRestoreRebootedWithinTheStream(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	id, want := m.makeLargeBox()
	kept := m.inventory()
	cut, whole := m.inputCutter()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for range 3 {
		at := 5_000_000 + random.IntN(20_000_000) // only the stream of the backup is that long
		cut(at, fmt.Sprintf(`test "$(head -c 1 <&3 | wc -c)" = 1 || exit
"$real" -F %s/main/ssh.config lima-main sudo -n reboot; exec sleep 60`, m.lima()), "$s")
		out, stderr, err := m.run("restore", id, "--json", "--mirror", m.mirror)
		if a := decode[any](t, out); err == nil || !strings.HasPrefix(a.Error.Message, "unpack in the box: ") || a.Error.Recovery == "" {
			t.Errorf("rebooted after %d bytes (seed %d): %v %s %s", at, seed, err, out, stderr)
		}
		if remaining := m.inventory(); !slices.Equal(remaining, kept) {
			t.Fatalf("rebooted after %d bytes (seed %d), remaining: %v", at, seed, remaining)
		}
	}
	whole()
	m.wantRestorable(id, want, "reboots")
}

// If the box reboots during its backup, no partial backup is listed, no snapshot or freeze stays in the guest, and the
// next backup succeeds.
func TestBackupOfABoxThatReboots(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeBox()
	for _, step := range m.steps("backup") {
		out, err := m.rebooted(step, "main", "backup")
		after := "a backup whose box rebooted after " + step
		if err != nil {
			t.Errorf("%s: %v %s", after, err, out)
		}
		m.listed()
		m.wantReleased(after)
		m.wantSoundAfterBackup(after)
	}
	cut, whole := m.cutter()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for _, at := range []int{0, random.IntN(300_000), 300_000} {
		m.must("exec", "--", "sh", "-c", "head -c 300000 /dev/urandom >/data/home/agent/work")
		before := m.listed()
		after := fmt.Sprintf("a backup whose box rebooted at byte %d (seed %d)", at, seed)
		cut(cutBoot, at)
		out, stderr, err := m.run("backup", "--full", "--json")
		whole()
		if a := decode[any](t, out); err == nil || a.Error.Message == "" || a.Error.Recovery == "" {
			t.Errorf("%s: %v %s %s", after, err, out, stderr)
		}
		m.waitForState("running")
		m.wantNoBackup(after, before)
	}
}

// If the throw-away box of a drill reboots, the drill either fails or compares every file. It removes its box, and does
// not touch the other one.
func TestDrillBoxThatReboots(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeOddBox()
	m.backupID()
	before := m.inventory()
	drill := []string{"backup", "drill", "--mirror", m.mirror}
	steps := m.steps(drill...)
	failed := []string{}
	for _, step := range steps[slices.Index(steps, "boot"):slices.Index(steps, "remove")] {
		out, err := m.rebooted(step, "main-drill", drill...)
		if err != nil {
			failed = append(failed, step)
		} else if !strings.Contains(out, `"different":0`) {
			t.Errorf("rebooted after %s: %s", step, out)
		}
		if remaining := m.inventory(); !slices.Equal(remaining, before) {
			t.Fatalf("rebooted after %s, remaining: %v, want %v", step, remaining, before)
		}
		m.wantSound("a drill whose box rebooted after " + step)
	}
	t.Logf("the drill failed after %v", failed)
	m.must(append(drill, "--quiet")...)
}
