package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// In the dashboard, the user makes a backup, verifies it, restores it as a trial, exports it and gets a file out of it. Then
// the user destroys the box and restores it, first from the backup, then from exported files.
func TestDashboardBackups(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeBox()
	m.must("exec", "--", "sh", "-c", "echo precious >/workspace/note")
	d := m.dashboard("✓ healthy")
	d.Type("B", "backups")
	d.Type("n", "✓ main has a verified backup", "programs in the box could not write for")
	awaitKeys()
	d.Type(enter, "backup now ✓", "2 backups")
	d.Type("v", "is good: every file matches its digest")

	d.Type(enter, "files", "home/agent/workspace/note")
	d.Type(esc, "✓ verified")
	d.Type("t", "as a trial?")
	d.Type("y", "can be restored: no difference was found")
	awaitKeys()
	d.Type(enter, "2 backups")

	exported := filepath.Join(m.dir, "exported")
	d.Type("w", "Export the backup")
	d.Type(ctrlU+filepath.Join(m.dir, "nowhere", "exported")+enter, "! there is no directory", "hint: mkdir -p")
	awaitKeys()
	d.Type(ctrlU+exported+enter, "✓ the backup is in", "read back and compared", "! only this machine has the key")
	if _, err := os.Stat(exported); err != nil {
		t.Error(err)
	}
	awaitKeys()
	d.Type(esc, "2 backups")
	d.Type("f", "Get files")
	d.Type("nite"+enter, "enter copy")
	d.Type(ctrlU+m.dir+enter, `! "home/agent/workspace/nite" is not in the backup`, "/workspace/nite")
	awaitKeys()
	d.Type("\t\x7f\x7f\x7fote"+enter, "enter copy")
	d.Type(enter, "✓ /workspace/note is copied into")
	if text, err := os.ReadFile(filepath.Join(m.dir, "note")); err != nil || string(text) != "precious\n" {
		t.Errorf("%q, %v", text, err)
	}
	awaitKeys()
	d.Type(enter, "2 backups")
	d.Type(esc, "✓ healthy")

	d.Type("X", "Destroy main")
	d.Type("main"+enter, "✓ main is gone")
	awaitKeys()
	d.Type(enter, "of main are kept on this machine")
	d.Type("B", "✓ verified")
	d.Type("r", "Restore main?")
	d.Type("y", "✓ main is restored", "all compared with the backup")
	awaitKeys()
	d.Type(enter, "✓ healthy")
	if text := m.must("exec", "--", "cat", "/workspace/note"); text != "precious\n" {
		t.Errorf("restored: %q", text)
	}

	// Without its backups and its key, the box is restored from the exported file and the exported key.
	identity := filepath.Join(m.dir, "identity")
	m.must("key", "export", identity)
	m.must("destroy", "--backups", "--confirm", "main", "--quiet")
	d.Shows("this machine")
	d.Type("i", "The file that hermes-box backup export wrote")
	d.Type(exported+enter, "The file that hermes-box key export wrote")
	d.Type(identity+enter, "✓ main is restored")
	awaitKeys()
	d.Type(enter, "✓ healthy")
	if text := m.must("exec", "--", "cat", "/workspace/note"); text != "precious\n" {
		t.Errorf("restored from the file: %q", text)
	}

	// A file that a passphrase opens needs nothing else. A passphrase that was mistyped can be corrected.
	locked := filepath.Join(m.dir, "locked")
	c := m.cmd("", "backup", "export", m.backupID(), locked, "--stdin", "--quiet")
	c.Stdin = strings.NewReader("correct horse battery\n")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	m.must("destroy", "--backups", "--confirm", "main", "--quiet")
	d.Shows("this machine")
	d.Type("i", "The file that hermes-box backup export wrote")
	d.Type(locked+"x"+enter, "! there is no file")
	awaitKeys()
	d.Type("\x7f"+enter, "The passphrase that it was exported with")
	d.Type("correct horse batterx"+enter, "! the passphrase does not open the file")
	awaitKeys()
	d.Type("\x7fy"+enter, "✓ main is restored")
	awaitKeys()
	d.Type(enter, "✓ healthy")
	if text := m.must("exec", "--", "cat", "/workspace/note"); text != "precious\n" {
		t.Errorf("restored with a passphrase: %q", text)
	}
	d.Type("q")
	wantExit(t, d, 0)
}
