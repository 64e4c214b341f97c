package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/tui/widget"
)

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
		{"n with a stopped box", func() *fake { f := withBackups(first); f.known.Status = off("stopped"); return f }(), "B n", "new: the box is stopped: s starts it", "!backup"},
		{"v verifies the selected backup", withBackups(first, second), "B j v", "the backup of 2026-06-14 10:00 is good", "verify:" + second.ID},
		{"v on a damaged backup", withBackups(first, damaged), "B j v", "verify: it is damaged", "!verify"},
		{"v without a backup", withBackups(), "B v", "verify: there is no backup", "!verify"},
		{"D asks before it deletes", withBackups(first, second), "B j D", "Delete the backup " + second.ID, "!delete"},
		{"enter does not delete", withBackups(first, second), "B j D enter", "▸ 1d 2h ", "!delete"},
		{"y deletes the backup", withBackups(first, second), "B j D y", "is deleted", "delete:" + second.ID},
		{"the only good backup stays", withBackups(first, damaged), "B D", "delete: it is the only good backup", "!delete"},
		{"a damaged backup is deleted", withBackups(first, damaged), "B j D y", "is deleted", "delete:" + second.ID},
		{"w asks for the file to export into", withBackups(first), "B w", "> " + first.ID + ".hermes-box", "!export"},
		{"enter exports into that file", withBackups(first), "B w enter", "the backup is in /srv/me/" + first.ID + ".hermes-box", "export:" + first.ID + ":/srv/me/" + first.ID + ".hermes-box"},
		{"w says what opens the file", withBackups(first), "B w", "the passphrase of the backups does not", "!export"},
		{"the result of an export warns of a key without a copy", withBackups(first), "B w enter", "! only this machine has the key", "export:" + first.ID + ":/srv/me/" + first.ID + ".hermes-box"},
		{"esc does not export", withBackups(first), "B w esc", "▸ 2h ", "!export"},
		{"f refuses an empty path", withBackups(first), "B f " + strings.Repeat("backspace ", 12) + "enter", "! type a path", "!get"},
		{"f asks for the path and for the directory", withBackups(first), "B f a p i enter", "> into  .", "!get"},
		{"f copies the path into the directory", withBackups(first), "B f a p i enter o u t enter", "/workspace/api is copied into /srv/me/out", "get:" + first.ID + ":/workspace/api:/srv/me/out"},
		{"f while another command works", worked, "B f enter enter", "/workspace/ is copied into /srv/me", "get:" + first.ID + ":/workspace/:/srv/me"},
		{"w while another command works", worked, "B w enter", "the backup is in", "export:" + first.ID},
		{"D while another command works", worked, "B j D", "delete: another hermes-box is at work", "!delete"},
		{"w shows the end of a long name", withBackups(envelope(time.Hour, strings.Repeat("long-", 10))), "B w", "long-.hermes-box ", "!export"},
		{"a long label is cut before the state", withBackups(envelope(time.Hour, strings.Repeat("long-", 10))), "B", "…  ✓ verified", ""},
		{"f copies into the directory of the dashboard by default", withBackups(first), "B f enter enter", "/workspace/ is copied into /srv/me", "get:" + first.ID + ":/workspace/:/srv/me"},
		{"f into a directory that is typed", withBackups(first), "B f enter / t m p enter", "/workspace/ is copied into /tmp", "get:" + first.ID + ":/workspace/:/tmp"},
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
		{"i restores with a passphrase", noBox(), "i l o c k e d enter s e s a m e enter", "main is restored", "restore:/srv/me/locked:sesame"},
		{"i with a file whose name is an ID", noBox(), "i " + spaced(first.ID) + " enter enter", "main is restored", "restore:/srv/me/" + first.ID + ":"},
		{"i keeps the name of a file that cannot be read", unreadable, "i x enter", "> x ", "!restore"},
		{"i says why it cannot be read", unreadable, "i x enter", "! there is no file x", "!restore"},
		{"i restores with an identity", noBox(), "i x enter k e y enter", "main is restored", "restore:/srv/me/x:/srv/me/key"},
		{"i without an identity", noBoxWith(first), "B i x enter enter", "main is restored", "restore:/srv/me/x:"},
		{"enter lists the files", withBackups(first), "B enter", "workspace/api/main.go", "show:" + first.ID},
		{"esc goes back to the list", withBackups(first), "B enter esc", "▸ 2h ", ""},
		{"a search", withBackups(first), "B enter / N O T E enter", "▸ ", ""},
		{"f gets the selected file", withBackups(first), "B enter / n o t e enter f enter", "home/agent/note s.txt is copied into /srv/me", "get:" + first.ID + ":home/agent/note s.txt:/srv/me"},
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

// spaced puts a space between any two letters of a text, so that a test types them one by one.
func spaced(text string) string { return strings.Join(strings.Split(text, ""), " ") }

// While the outcome of an operation on a backup is shown, the keys of the view of backups and of the dashboard work. After
// a restore only the keys of the dashboard work, since the outcome names them.
func TestKeysWhileAnOutcomeIsShown(t *testing.T) {
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
