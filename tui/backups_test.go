package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

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
func TestListStaysOpenDuringVerify(t *testing.T) {
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

// Labels are shown whatever their length and at every width. With little room they replace the added bytes.
func TestLabelsAreShown(t *testing.T) {
	for label, want := range map[string]string{"a": "a", "one": "one", "before-update": "before-", strings.Repeat("long-", 6): "long-lo"} {
		for _, w := range []int{60, 70, 80, 120, 200} {
			m := testModel(withBackups(envelope(2*time.Hour, label), envelope(26*time.Hour, "")), w, 24)
			press(m, "B")
			rows := strings.Split(screen(m), "\n")
			if at := strings.Index(rows[2], "label"); at < 0 || !strings.HasPrefix(rows[3][at+len("▸ ")-len("  "):], want) || !strings.Contains(rows[3], "✓ verified 2h ago") {
				t.Errorf("%d cells, label %s:\n%s\n%s", w, label, rows[2], rows[3])
			}
			if w >= 80 && !strings.Contains(rows[2], "added") {
				t.Errorf("%d cells, label %s: no column of added bytes", w, label)
			}
		}
	}
	m := testModel(withBackups(envelope(2*time.Hour, "")), 60, 24)
	press(m, "B")
	if s := screen(m); strings.Contains(s, "label") || !strings.Contains(s, "added") {
		t.Errorf("without a label:\n%s", s)
	}
}

// The list says which backup the next one deletes, and the details of each backup until when it is kept.
func TestRetentionIsShown(t *testing.T) {
	all := []backup.Envelope{envelope(2*time.Hour, "one"), envelope(26*time.Hour, "two"), envelope(50*time.Hour, "three")}
	f := withBackups(all...)
	f.known.Keep, f.known.Lasts = 2, map[string]int{all[0].ID: 2, all[1].ID: 1}
	m := on(f)
	press(m, "B")
	see := func(want string) {
		t.Helper()
		if s := screen(m); !strings.Contains(s, want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
	see("backup.keep is 2: the next backup deletes the one of 2026-06-14 10:00:00")
	see("kept        until 2 more are made (backup.keep: 2)")
	press(m, "j")
	see("kept        until the next one is made (backup.keep: 2)")
	press(m, "j")
	see("kept        until you delete it")
	m.update(sized(120, 40))
	see("✓ verified 1d 2h ago; the next backup deletes it")
	f.known.Lasts = map[string]int{all[0].ID: 1, all[1].ID: 1}
	drain(m, m.readFiles())
	see("the next backup deletes 2 of these")
	f.known.Lasts = nil
	drain(m, m.readFiles())
	see("the next backup deletes none of these")
	none := on(noBoxWith(all...))
	if press(none, "B"); strings.Contains(screen(none), "the next backup") {
		t.Errorf("there is no box to back up:\n%s", screen(none))
	}
}

// Whether the selected backup was drilled is shown at once, and another drill as soon as the files are read again.
func TestDrillIsShownAtOnce(t *testing.T) {
	f := withBackups(envelope(2*time.Hour, "one"))
	m := on(f)
	see := func(want string) {
		t.Helper()
		if s := screen(m); !strings.Contains(s, want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
	press(m, "B") // what it returns is not run: nothing has answered yet
	see("drilled     not yet")
	f.known.Drills = map[string]*ops.Drill{f.known.Backups[0].ID: {Into: "files", Ended: noon}}
	drain(m, m.readFiles())
	see("drilled     0s ago, into a directory: no difference")
	f.known.Drills, f.known.DrillsErr = nil, errors.New("permission denied")
	drain(m, m.readFiles())
	see("drilled     unknown: permission denied")
}

// The details show the last drill of the selected backup.
func TestDrillInTheDetails(t *testing.T) {
	first, second := envelope(2*time.Hour, "one"), envelope(26*time.Hour, "two")
	f := withBackups(first, second)
	f.known.Drills = map[string]*ops.Drill{first.ID: {Into: "box", Ended: noon.Add(-time.Hour)},
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
	m.update(sized(60, 16)) // three rows fit
	screen(m)
	m.update(tea.MouseClickMsg{X: 5, Y: 7, Button: tea.MouseLeft}) // in the panel below
	if s := screen(m); !strings.Contains(s, "▸ 2d 2h ") {
		t.Errorf("a click outside of the list selects a backup that is not shown:\n%s", s)
	}
}

// From an operation on a backup, enter and esc go back to the view where it was begun, with the same selection. While the
// operation runs, esc does so too.
func TestEscAfterAnOperationOnABackup(t *testing.T) {
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

// If the newest backup is in the future, the header says that a clock is wrong, and the facts about that backup say why
// and what to do.
func TestWrongClockIsExplained(t *testing.T) {
	f := withBackups(envelope(-2*time.Hour, "one"), envelope(26*time.Hour, "two"))
	m := testModel(f, 160, 50)
	if head, _, _ := strings.Cut(screen(m), "\n"); !strings.Contains(head, "! backup clock wrong") {
		t.Error(head)
	}
	press(m, "B")
	if s := screen(m); !strings.Contains(s, "its time is in the future: a clock is or was wrong") || !strings.Contains(s, "give commands an id instead of latest") {
		t.Error(s)
	}
	if press(m, "j"); strings.Contains(screen(m), "in the future") {
		t.Error(screen(m))
	}
}
