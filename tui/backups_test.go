package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// envelope returns a good backup that was made some time before noon.
func envelope(before time.Duration, label string) backup.Envelope {
	at := noon.Add(-before)
	return backup.Envelope{ID: at.Format("20060102T150405Z") + "-" + label, Time: at, Box: "main", Label: label, Arch: "arm64",
		Digest: strings.Repeat("1a2b3c4d", 8), Recipients: []string{"age1" + strings.Repeat("q", 58), "age1" + strings.Repeat("z", 58)},
		Entries: 12034, Bytes: 3 << 30, Added: 12 << 20, Chunks: 812, ReadBack: 9, Verified: at, OldestRead: at}
}

// someBackups returns a backup in each state, newest first: the first is the newest good one.
func someBackups() []backup.Envelope {
	all := []backup.Envelope{envelope(2*time.Hour, "before-update"), envelope(26*time.Hour, ""), envelope(50*time.Hour, ""),
		envelope(74*time.Hour, "monday"), envelope(98*time.Hour, "")}
	all[0].OldestRead = noon.Add(-98 * time.Hour)
	all[1].Problems = 2
	all[2].Failed = "the backup is damaged: 3 of its 12034 entries cannot be restored, such as \"home/agent/notes.txt\""
	all[3] = backup.Envelope{ID: all[3].ID, Damaged: all[3].ID + ".json is damaged: unexpected end of JSON input"}
	all[4].Added = 3 << 30
	return all
}

// someFiles returns the list of files of a backup.
func someFiles() []ops.BackupFile {
	file := func(name string, typ tree.Type, mode uint32, size int64) ops.BackupFile {
		return ops.BackupFile{Name: name, Path: []byte(name), Type: typ, Mode: mode, Size: size, MTime: noon.Add(-time.Hour).UnixNano()}
	}
	return []ops.BackupFile{file(".", tree.Dir, 0o755, 0), file("home", tree.Dir, 0o755, 0), file("home/agent", tree.Dir, 0o700, 0),
		file("home/agent/note s.txt", tree.File, 0o600, 212), file("home/agent/workspace/api/main.go", tree.File, 0o644, 43<<10),
		file("home/agent/workspace/"+strings.Repeat("a-long-directory/", 8)+"disk.img", tree.File, 0o600, 2<<30), file("home/agent/link", tree.Symlink, 0o777, 0)}
}

// withBackups returns a running box with these backups.
func withBackups(all ...backup.Envelope) *fake {
	f := withStatus(runningStatus())
	f.known.Backups, f.known.Created = all, noon.Add(-30*24*time.Hour)
	return f
}

// timed returns a running box with a backup and a timer.
func timed(timer *ops.BackupSchedule) *fake {
	f := withBackups(envelope(2*time.Hour, ""))
	f.known.Status.Schedule = timer
	return f
}

// keyless returns a box with a backup, whose key is lost.
func keyless(st *ops.Status) *fake {
	f := withBackups(envelope(2*time.Hour, ""))
	st.Key = &ops.Advised{Warning: `the identity of box "main" is missing: /srv/home/keys/main.age-identity: not found`, Repair: "hermes-box key import FILE"}
	f.known.Status = st
	return f
}

// noBoxWith returns a box that does not exist, but has these backups.
func noBoxWith(all ...backup.Envelope) *fake {
	f := noBox()
	f.known.Backups = all
	return f
}

// Keys of the view of backups change the screen and call the box as the table says.
func TestBackupKeys(t *testing.T) {
	first, second := envelope(2*time.Hour, "one"), envelope(26*time.Hour, "two")
	damaged := backup.Envelope{ID: second.ID, Damaged: second.ID + ".json is damaged"}
	unreadable := noBox()
	unreadable.openErr = errors.New("there is no file x")
	worked := withBackups(first, second)
	worked.known.Status.Underway = &ops.Underway{Operation: "start", Running: true, PID: 1 << 22, Started: noon}
	for _, c := range []struct {
		name  string
		box   *fake
		keys  string
		shows string
		asked string // a call that the box must have received; with "!" in front, one that it must not have received
	}{
		{"the list", withBackups(someBackups()...), "B", "▸ 2h ", ""},
		{"down moves", withBackups(someBackups()...), "B j", "▸ 1d 2h ", ""},
		{"esc returns", withBackups(first), "B esc", "▸ node", ""},
		{"no backup", withBackups(), "B", "main has no backup yet", ""},
		{"no box, but backups", noBoxWith(someBackups()...), "B", "▸ 2h ", ""},
		{"n makes a backup", withBackups(first), "B n", "main has a verified backup", "backup"},
		{"n with a stopped box", func() *fake { f := withBackups(first); f.known.Status = off("stopped"); return f }(), "B n", "new: the box is not running", "!backup"},
		{"v verifies the selected backup", withBackups(first, second), "B j v", "the backup of 2026-06-14 10:00 is good", "verify:" + second.ID},
		{"v on a damaged backup", withBackups(first, damaged), "B j v", "verify: it is damaged", "!verify"},
		{"v without a backup", withBackups(), "B v", "verify: there is no backup", "!verify"},
		{"D asks before it deletes", withBackups(first, second), "B j D", "Delete the backup " + second.ID, "!delete"},
		{"enter does not delete", withBackups(first, second), "B j D enter", "▸ 1d 2h ", "!delete"},
		{"y deletes the backup", withBackups(first, second), "B j D y", "is deleted", "delete:" + second.ID},
		{"the only good backup stays", withBackups(first, damaged), "B D", "delete: it is the only good backup", "!delete"},
		{"a damaged backup is deleted", withBackups(first, damaged), "B j D y", "is deleted", "delete:" + second.ID},
		{"w asks for the file to export into", withBackups(first), "B w", "> " + first.ID + ".hermes-box", "!export"},
		{"enter exports into that file", withBackups(first), "B w enter", "the backup is in " + first.ID + ".hermes-box", "export:" + first.ID + ":" + first.ID + ".hermes-box"},
		{"w says what opens the file", withBackups(first), "B w", "their passphrase cannot", "!export"},
		{"the result of an export warns of a key without a copy", withBackups(first), "B w enter", "! only this machine has that identity", "export:" + first.ID + ":" + first.ID + ".hermes-box"},
		{"esc does not export", withBackups(first), "B w esc", "▸ 2h ", "!export"},
		{"f refuses an empty path", withBackups(first), "B f " + strings.Repeat("backspace ", 12) + "enter", "! type a path", "!get"},
		{"f asks for the path and for the directory", withBackups(first), "B f a p i enter", "> into  .", "!get"},
		{"f copies the path into the directory", withBackups(first), "B f a p i enter o u t enter", "/workspace/api is copied into out", "get:" + first.ID + ":/workspace/api:out"},
		{"f while another command works", worked, "B f enter enter", "/workspace/ is copied into .", "get:" + first.ID + ":/workspace/:."},
		{"w while another command works", worked, "B w enter", "the backup is in", "export:" + first.ID},
		{"D while another command works", worked, "B j D", "delete: another hermes-box is at work", "!delete"},
		{"w shows the end of a long name", withBackups(envelope(time.Hour, strings.Repeat("long-", 10))), "B w", "long-.hermes-box ", "!export"},
		{"a long label is cut before the state", withBackups(envelope(time.Hour, strings.Repeat("long-", 10))), "B", "…  ✓ verified", ""},
		{"f copies into the directory of the dashboard by default", withBackups(first), "B f enter enter", "/workspace/ is copied into .", "get:" + first.ID + ":/workspace/:."},
		{"f into a directory that is typed", withBackups(first), "B f enter ~ enter", "/workspace/ is copied into ~", "get:" + first.ID + ":/workspace/:~"},
		{"f on a damaged backup", withBackups(first, damaged), "B j f", "get files: it is damaged", "!get"},
		{"r with a box that exists", withBackups(first), "B r", "restore: the box exists", "!restore"},
		{"r asks before it restores", noBoxWith(first), "B r", "Restore main?", "!restore"},
		{"enter does not restore", noBoxWith(first), "B r enter", "▸ 2h ", "!restore"},
		{"y restores", noBoxWith(first, second), "B j r y", "main is restored", "restore:" + second.ID + ":"},
		{"t asks before it drills", withBackups(first), "B t", "as a trial?", "!drill"},
		{"y drills", withBackups(first, second), "B j t y", "can be restored: no difference was found", "drill:" + second.ID + ":false"},
		{"T drills in a box", withBackups(first), "B T y", "can be restored: no difference was found", "drill:" + first.ID + ":true"},
		{"i with a box that exists", withBackups(first), "B i", "restore file: the box exists", "!restore"},
		{"i asks for the file", noBox(), "i x enter", "hermes-box key export wrote", "!restore"},
		{"i asks for the passphrase if the file needs one", noBox(), "i l o c k e d enter", "The passphrase that it was exported with", "!restore"},
		{"i does not show the passphrase", noBox(), "i l o c k e d enter s e s a m e", "> ******", "!restore"},
		{"i needs the passphrase", noBox(), "i l o c k e d enter enter", "! type the passphrase", "!restore"},
		{"i restores with a passphrase", noBox(), "i l o c k e d enter s e s a m e enter", "main is restored", "restore:./locked:sesame"},
		{"i with a file whose name is an ID", noBox(), "i " + spaced(first.ID) + " enter enter", "main is restored", "restore:./" + first.ID + ":"},
		{"i keeps the name of a file that cannot be read", unreadable, "i x enter", "> x ", "!restore"},
		{"i says why it cannot be read", unreadable, "i x enter", "! there is no file x", "!restore"},
		{"i restores with an identity", noBox(), "i x enter k e y enter", "main is restored", "restore:./x:key"},
		{"i without an identity", noBoxWith(first), "B i x enter enter", "main is restored", "restore:./x:"},
		{"enter lists the files", withBackups(first), "B enter", "workspace/api/main.go", "show:" + first.ID},
		{"esc goes back to the list", withBackups(first), "B enter esc", "▸ 2h ", ""},
		{"a search", withBackups(first), "B enter / N O T E enter", "▸ ", ""},
		{"f gets the selected file", withBackups(first), "B enter / n o t e enter f enter", "home/agent/note s.txt is copied into .", "get:" + first.ID + ":home/agent/note s.txt:."},
		{"a search without a match", withBackups(first), "B enter / z z z enter", "no path has this text", ""},
		{"f without a match", withBackups(first), "B enter / z z z enter f", "get: no file is selected", "!get"},
		{"the list cannot be read", func() *fake { f := withBackups(first); f.showErr = errors.New("the key is missing"); return f }(), "B enter", "✗ the key is missing", ""},
		{"the palette goes to the backups", withBackups(first), ": v e r i f y enter", "is good", "verify:" + first.ID},
		{"the palette restores", noBoxWith(first), ": r e s t o r e enter", "Restore main?", "!restore"},
		{"D on the dashboard", withBackups(first), "D", "delete: only in the backups, which B opens", "!delete"},
		{"x without an operation", withBackups(first), "B x", "cancel: nothing is under way", ""},
		{"backups that cannot be listed", func() *fake { f := withBackups(); f.known.BackupsErr = errors.New("permission denied"); return f }(), "B", "✗ permission denied", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := on(c.box)
			for _, k := range strings.Fields(c.keys) {
				drain(m, press(m, k))
			}
			if s := screen(m); !strings.Contains(s, c.shows) {
				t.Errorf("the screen does not show %q:\n%s", c.shows, s)
			}
			if not, ok := strings.CutPrefix(c.asked, "!"); ok && c.box.did(not) || !ok && !c.box.did(c.asked) {
				t.Errorf("the box was asked %v, want %q", c.box.asked, c.asked)
			}
		})
	}
}

// The selected backup stays selected when a newer one appears above it.
func TestBackupSelectionStays(t *testing.T) {
	f := withBackups(envelope(2*time.Hour, "one"), envelope(26*time.Hour, "two"))
	m := on(f)
	press(m, "B", "j")
	f.known.Backups = append([]backup.Envelope{envelope(time.Minute, "new")}, f.known.Backups...)
	drain(m, m.readFiles())
	if s := screen(m); !strings.Contains(s, "▸ 1d 2h ") {
		t.Error(s)
	}
}

// The list of backups stays open during a verification and shows its progress. x asks whether to cancel the
// verification, and its error is shown.
func TestVerifyBehindTheList(t *testing.T) {
	f := withBackups(envelope(2*time.Hour, "one"), envelope(26*time.Hour, "two"))
	end := held(f)
	m := on(f)
	press(m, "B", "v")
	m.op.apply(ops.Event{Time: noon, Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "verify", Title: "read"}}})
	m.op.apply(ops.Event{Time: noon, Kind: ops.Started, Step: "verify"})
	m.op.apply(ops.Event{Time: noon, Kind: ops.Bytes, Step: "verify", Done: 1 << 30, Total: 3 << 30})
	if s := screen(m); m.view != onBackups || !strings.Contains(s, "1.0 of 3.0 GiB") {
		t.Errorf("no progress in the list:\n%s", s)
	}
	if press(m, "x"); m.dialog == nil {
		t.Fatal("x does not ask")
	}
	press(m, "esc")
	end <- fault.New(fault.IntegrityFailed, "the backup is damaged").Hint("use another one")
	settle(t, m)
	if s := screen(m); !strings.Contains(s, "✗ verification failed") || !strings.Contains(s, "hint: use another one") {
		t.Error(s)
	}
}

// The header shows the age of the newest verified backup, or what is wrong, and the suggestions offer the remedy.
func TestBackupInTheHeader(t *testing.T) {
	young := withBackups()
	young.known.Created = noon.Add(-time.Hour)
	unreadable := withBackups()
	unreadable.known.BackupsErr = errors.New("permission denied")
	for _, c := range []struct {
		name, shows, offers string
		box                 *fake
	}{
		{"fresh", "backup 2h ✓", "", withBackups(envelope(2*time.Hour+13*time.Minute, ""))},
		{"partial", "backup 1d ✓", "", withBackups(someBackups()[1])},
		{"old", "backup 8d !", "", withBackups(envelope(8*24*time.Hour+time.Hour, ""))},
		{"damaged", "! backup damaged", "look at the backups", withBackups(someBackups()[2:]...)},
		{"none", "! no backup", "make the first backup", withBackups()},
		{"failed by the timer", "! backup failed", "make the backup that failed", timed(&ops.BackupSchedule{Every: "6h", Problem: "the scheduled backup failed 1h ago: no space", Last: &ops.Scheduled{Failed: "no space"}})},
		{"no timer", "! backup timer", "look at the backups", timed(&ops.BackupSchedule{Every: "6h", Problem: "no timer is installed", Repair: "hermes-box backup schedule on"})},
		{"a timer that works", "backup 2h ✓", "", timed(&ops.BackupSchedule{Every: "6h"})},
		{"a new box without a backup", "", "", young},
		{"a lost key", "! no usable key", "repair the key of the backups", keyless(runningStatus())},
		{"a lost key of a stopped box", "! no usable key", "", keyless(off("stopped"))},
		{"unreadable", "! backups unreadable", "look at the backups", unreadable},
	} {
		m := on(c.box)
		s := screen(m)
		head, _, _ := strings.Cut(s, "\n")
		if !strings.Contains(head, c.shows) || c.shows == "" && strings.Contains(head, "backup") || c.offers != "" && !strings.Contains(s, "1 "+c.offers) {
			t.Errorf("%s:\n%s", c.name, s)
		}
	}
}

// A backup that failed is shown in the header until one succeeds.
func TestFailedBackupInTheHeader(t *testing.T) {
	f := withBackups(envelope(2*time.Hour, ""))
	end := held(f)
	m := on(f)
	now := noon
	m.now = func() time.Time { return now }
	for _, err := range []error{errors.New("no space left on device"), nil} {
		if press(m, "b"); m.own == nil {
			t.Fatal(screen(m))
		}
		end <- err
		settle(t, m)
		now = now.Add(time.Minute) // keys that are typed too early are ignored
		press(m, "esc")
		head, _, _ := strings.Cut(screen(m), "\n")
		if strings.Contains(head, "! backup failed") != (err != nil) {
			t.Errorf("after %v: %s", err, head)
		}
	}
}

// A backup that another process has made after a failed one removes the failure from the header.
func TestLaterBackupReplacesAFailure(t *testing.T) {
	f := withBackups(envelope(2*time.Hour, ""))
	m := on(f)
	m.backupFailed = noon.Add(-time.Hour)
	if s := screen(m); !strings.Contains(s, "! backup failed") {
		t.Error(s)
	}
	f.known.Backups = []backup.Envelope{envelope(time.Minute, ""), envelope(2*time.Hour, "")}
	drain(m, m.readFiles())
	if s := screen(m); !strings.Contains(s, "backup 1m ✓") {
		t.Error(s)
	}
}

// The progress of a backup shows the size of the last backup as an estimate of the total. Without a last backup, or
// beyond the estimate, only the bytes that are done are shown.
func TestBytesOfABackup(t *testing.T) {
	for _, c := range []struct {
		done, about int64
		want        string
	}{
		{1 << 30, 3 << 30, "1.0 of about 3.0 GiB"},
		{4 << 30, 3 << 30, "4.0 GiB · 5s"},
		{1 << 30, 0, "1.0 GiB · 5s"},
		{0, 0, "5s"},
	} {
		o := &operation{about: c.about, begun: noon}
		o.apply(ops.Event{Time: noon.Add(-5 * time.Second), Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "copy", Title: "copy"}}})
		o.apply(ops.Event{Time: noon.Add(-5 * time.Second), Kind: ops.Started, Step: "copy"})
		o.apply(ops.Event{Time: noon, Kind: ops.Bytes, Step: "copy", Done: c.done})
		m := on(withBackups())
		if got := o.steps[0].progress(m.page(), 60); !strings.Contains(got, c.want) {
			t.Errorf("%d of about %d: %q", c.done, c.about, got)
		}
	}
}

// The result of a backup shows its size, how long programs could not write, and what the backup lacks.
func TestResultOfABackup(t *testing.T) {
	m := on(withBackups())
	made := &ops.BackupMade{Envelope: envelope(0, ""), Frozen: 0.8, Note: "block snapshots are not built yet"}
	made.Problems = 2
	text := strings.Join(resultLines(m.page(), made, 200), "\n")
	for _, want := range []string{"12034 files, 3.0 GiB; 12 MiB added on this disk", "could not write for 0.8s", "partial: 2 files could not be read", "not built yet"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// The details show the last drill of the selected backup.
func TestDrillInTheDetails(t *testing.T) {
	first, second := envelope(2*time.Hour, "one"), envelope(26*time.Hour, "two")
	f := withBackups(first, second)
	f.drills = map[string]*ops.Drill{first.ID: {Into: "box", Ended: noon.Add(-time.Hour)},
		second.ID: {Into: "files", Ended: noon.Add(-time.Hour), Different: 3, Report: "/srv/report.json"}}
	m := on(f)
	drain(m, press(m, "B"))
	if s := screen(m); !strings.Contains(s, "drilled     1h ago, into a box: no difference") {
		t.Error(s)
	}
	press(m, "j")
	if s := screen(m); !strings.Contains(s, "1h ago, into a directory: 3 differences, listed in") {
		t.Error(s)
	}
}

// A click selects the backup under it.
func TestClickSelectsABackup(t *testing.T) {
	m := on(withBackups(someBackups()...))
	press(m, "B")
	screen(m)
	m.update(tea.MouseClickMsg{X: 5, Y: 5, Button: tea.MouseLeft})
	if s := screen(m); !strings.Contains(s, "▸ 2d 2h ") {
		t.Error(s)
	}
}

func TestFrozenText(t *testing.T) {
	for seconds, want := range map[float64]string{0: "less than 0.1s", 0.099: "less than 0.1s", 0.8: "0.8s", 75: "1m15s"} {
		if got := FrozenText(&ops.BackupMade{Frozen: seconds}); got != want {
			t.Errorf("%v: %s", seconds, got)
		}
	}
}

// noLockWith returns a box that does not exist and has no lock, but has these backups.
func noLockWith(all ...backup.Envelope) *fake {
	f := noBoxWith(all...)
	f.known.Lock = nil
	return f
}

// A box can be restored without a lock, but not on a machine that lacks something else.
func TestInvitationToRestore(t *testing.T) {
	lock := ops.Check{ID: "lock", Title: "lock file", Verdict: ops.Fail}
	for _, c := range []struct {
		checks []ops.Check
		want   bool
	}{{healthyHost(), true}, {[]ops.Check{lock}, true}, {append(lackingHost(), lock), false}} {
		m := on(noBoxWith(someBackups()...))
		m.first.checks.all = c.checks
		if s := screen(m); strings.Contains(s, "B restore it from a backup") != c.want {
			t.Errorf("want %v:\n%s", c.want, s)
		}
	}
}

// spaced puts a space between any two letters of a text, so that a test types them one by one.
func spaced(text string) string { return strings.Join(strings.Split(text, ""), " ") }

// From an operation on a backup, enter and esc go back to the view where it was begun, with the same selection. While the
// operation runs, esc does so too.
func TestBackFromAnOperationOnABackup(t *testing.T) {
	for _, begin := range []string{"t y", "T y", "w enter", "f enter enter", "n", "enter f enter"} {
		for _, leave := range []string{"enter", "esc"} {
			m := on(withBackups(someBackups()...))
			drain(m, press(m, "B", "j", "j"))
			for _, k := range strings.Fields(begin) {
				drain(m, press(m, k))
			}
			m.op.grace = widget.Grace{}
			if m.view != onOperation {
				t.Fatalf("%s: the operation is not shown:\n%s", begin, screen(m))
			}
			drain(m, press(m, leave))
			if m.view == onFiles {
				if s := screen(m); begin != "enter f enter" || !strings.Contains(s, "main.go") {
					t.Errorf("%s %s:\n%s", begin, leave, s)
				}
				press(m, "esc")
			}
			if s := screen(m); m.view != onBackups || !strings.Contains(s, "▸ 2d 2h ") {
				t.Errorf("%s %s:\n%s", begin, leave, s)
			}
		}
	}
	f := withBackups(someBackups()...)
	end := held(f)
	m := on(f)
	press(m, "B", "j", "n", "esc")
	if s := screen(m); m.view != onBackups || !strings.Contains(s, "▸ 1d 2h ") {
		t.Errorf("esc during a backup:\n%s", s)
	}
	press(m, "o")
	end <- nil
	settle(t, m)
	m.op.grace = widget.Grace{}
	if press(m, "enter"); m.view != onBackups {
		t.Error(screen(m))
	}
}

// A backup that was made from the list is selected in it.
func TestNewBackupIsSelected(t *testing.T) {
	f := withBackups(envelope(2*time.Hour, "one"), envelope(26*time.Hour, "two"))
	m := on(f)
	drain(m, press(m, "B", "j"))
	made := envelope(0, "new")
	o := &operation{verb: verbOf("backup"), begun: noon, feed: newFeed(mergeEvents), result: &ops.BackupMade{Envelope: made}}
	m.show(onOperation)
	m.op, m.own = o, o
	f.known.Backups = append([]backup.Envelope{made}, f.known.Backups...)
	drain(m, m.finished(o, nil))
	o.grace = widget.Grace{}
	if press(m, "enter"); !strings.Contains(screen(m), "▸ 0s ") {
		t.Error(screen(m))
	}
}

// While the outcome of an operation on a backup is shown, the keys of the view of backups and of the dashboard work. After
// a restore only the keys of the dashboard work, since the outcome names them.
func TestKeysBehindAnOutcome(t *testing.T) {
	for key, want := range map[string]string{"w": "Export the backup of 2026-06-13", "b": "main has a verified backup", "v": "is good: every file"} {
		m := on(withBackups(someBackups()...))
		drain(m, press(m, "B", "j", "j", "t"))
		drain(m, press(m, "y"))
		m.op.grace = widget.Grace{}
		drain(m, press(m, key))
		if s := screen(m); !strings.Contains(s, want) {
			t.Errorf("%s does not show %q:\n%s", key, want, s)
		}
	}
	f := noBoxWith(someBackups()...)
	m := on(f)
	drain(m, press(m, "B", "r"))
	f.known = withBackups(someBackups()...).known
	drain(m, press(m, "y"))
	m.op.grace = widget.Grace{}
	if drain(m, press(m, "v")); m.view != onDrift {
		t.Errorf("v does not show the drift:\n%s", screen(m))
	}
}

// If what was typed is refused, the question is shown again with the typed text and the reason. It ignores keys that were
// typed before the reason could be read, and can then be answered again.
func TestRefusedTextsStay(t *testing.T) {
	for _, c := range []struct{ name, keys, again, shows, asked string }{
		{"export", "B w x enter", "y enter", ".hermes-boxx", ".hermes-boxxy"},
		{"get", "B f a p i enter x enter", "y enter", "  path  /workspace/api", "/workspace/api:xy"},
		{"get of a file", "B enter f x enter", "y enter", "> x ", ":.:xy"},
		{"restore", "i x enter k enter", "y enter", "> k", "restore:./x:ky"},
		{"restore with a passphrase", "i l o c k e d enter a b enter", "y enter", "> **", "restore:./locked:aby"},
	} {
		f := withBackups(envelope(2*time.Hour, ""))
		if strings.HasPrefix(c.name, "restore") {
			f = noBox()
		}
		f.refuse = fault.New(fault.InvalidInput, "there is no directory /nowhere").Hint("mkdir -p /nowhere")
		m := on(f)
		now := noon
		m.now = func() time.Time { return now }
		for _, k := range strings.Fields(c.keys) {
			drain(m, press(m, k))
		}
		drain(m, press(m, "enter")) // too early
		s := screen(m)
		for _, want := range []string{c.shows, "! there is no directory /nowhere", "hint: mkdir -p /nowhere"} {
			if !strings.Contains(s, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, s)
			}
		}
		f.refuse, now = nil, now.Add(widget.Pause)
		for _, k := range strings.Fields(c.again) {
			drain(m, press(m, k))
		}
		if !f.did(c.asked) || m.op == nil || m.op.err != nil {
			t.Errorf("%s: the question cannot be answered again: %v\n%s", c.name, f.asked, screen(m))
		}
	}
}

// The commands in a question and in a warning act on the box of the dashboard.
func TestCommandsInTextsAreTyped(t *testing.T) {
	m := on(withBackups(envelope(2*time.Hour, "")))
	m.typed = func(text string) string {
		return strings.ReplaceAll(text, "hermes-box key", "hermes-box --config x key")
	}
	press(m, "B", "w")
	for range 2 {
		if s := strings.Join(strings.Fields(strings.ReplaceAll(screen(m), "│", " ")), " "); !strings.Contains(s, "hermes-box --config x key export FILE") {
			t.Error(screen(m))
		}
		drain(m, press(m, "enter"))
	}
}

// After the work has begun, a failure counts as refused only if a path cannot be written. Any other failure stays on the
// screen with the steps, since what was typed is not its cause.
func TestLateFailureIsNotRefused(t *testing.T) {
	o := &operation{verb: verb{name: "export", form: &question{}}, feed: newFeed(mergeEvents)}
	o.apply(ops.Event{Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "open"}, {ID: "write"}}})
	o.apply(ops.Event{Kind: ops.Done, Step: "open"})
	for err, want := range map[error]bool{errors.New("no space left"): false, fmt.Errorf("create: %w", fs.ErrPermission): true} {
		if o.finish(err, noon); o.refused() != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}

// A question that waits for its check ignores keys, and can be closed; the result of the check is then dropped.
func TestQuestionWaits(t *testing.T) {
	m := on(noBox())
	press(m, "i", "x")
	checked := press(m, "enter")
	press(m, "y", "enter")
	if s := screen(m); !strings.Contains(s, "> x ") {
		t.Errorf("a key acts while the file is checked:\n%s", s)
	}
	press(m, "esc")
	if drain(m, checked); m.dialog != nil {
		t.Error(screen(m))
	}
}
