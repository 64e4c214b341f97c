package tui

import (
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
