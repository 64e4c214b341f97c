package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"hermes-box/internal/age"
	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// askRestore asks whether to make the box from the selected backup.
func (m *model) askRestore() tea.Cmd {
	e, _ := m.selectedBackup()
	text := "It makes a VM and a data disk with the files of the backup of " + madeAt(e) + ", " + age.Format(m.now().Sub(e.Time)) +
		" old, and installs the software of its lock. The whole backup is checked before anything is made.\n\n" +
		"If the old box still runs somewhere, stop it first: both have the same logins."
	if !e.Good() {
		text = "This backup was not good when it was last checked: the restore may be refused.\n\n" + text
	}
	q := confirm("Restore "+m.name()+"?", text)
	q.Yes = "restore it"
	q.yes = func(m *model) tea.Cmd { return m.restore(RestoreFrom{Backup: e.ID}, nil) }
	m.dialog = q
	return nil
}

// restore makes the box from a backup. form is the question in which the texts were typed; nil if there was none.
func (m *model) restore(from RestoreFrom, form *question) tea.Cmd {
	v := verbOf("restore")
	v.form = form
	v.do = func(ctx context.Context, b Box, sink ops.Sink) (any, error) {
		return result(b.Restore(ctx, from, sink))
	}
	return m.begin(v)
}

// neededMsg says what opens an exported file.
type neededMsg struct {
	asked      *question // that asked for the file
	file       string
	passphrase bool // otherwise an identity
	err        error
}

// askRestoreFile asks for an exported file, then for what opens it, and makes the box from it.
func (m *model) askRestoreFile() tea.Cmd {
	q := form("Restore "+m.name()+" from a file", "The file that hermes-box backup export wrote. All of it is checked before anything is made."+relative,
		widget.Field{Check: notEmpty})
	q.Yes = "next"
	q.yes = func(m *model) tea.Cmd {
		m.dialog, q.waits = q, true
		file := homePath(q.Value(0))
		if !filepath.IsAbs(file) {
			file = "./" + file // otherwise it may name a listed backup
		}
		return m.tasks.do(func() tea.Msg {
			passphrase, err := m.box.NeedsPassphrase(file)
			return neededMsg{q, file, passphrase, err}
		})
	}
	m.dialog = q
	return nil
}

// askNeeded asks for what opens an exported file, and makes the box from it.
func (m *model) askNeeded(msg neededMsg) {
	switch {
	case m.dialog != msg.asked: // it was closed meanwhile
		return
	case msg.err != nil:
		m.refuse(msg.asked, msg.err)
		return
	}
	text, field := "The file that hermes-box key export wrote, with the identity that opens the backup. "+
		"Leave this empty if the key of "+m.name()+" is on this machine."+relative, widget.Field{}
	if msg.passphrase {
		text, field = "The passphrase that it was exported with.", widget.Field{Secret: true, Check: noPassphrase}
	}
	q := form(msg.asked.Title, text, field)
	q.Yes = "restore it"
	q.yes = func(m *model) tea.Cmd {
		from := RestoreFrom{Backup: msg.file}
		if msg.passphrase {
			from.Passphrase = q.Value(0)
		} else {
			from.Identity = homePath(q.Value(0))
		}
		return m.restore(from, q)
	}
	m.dialog = q
}

// whyNotRestoreFile returns why no box can be made from a file now; empty if one can.
func whyNotRestoreFile(m *model) string {
	switch {
	case m.known.Err != nil:
		return "there is no config yet"
	case m.known.Exists:
		return "the box exists: a restore makes it anew, so destroy it first"
	}
	return m.busy()
}

// askDrill asks whether to restore the selected backup as a trial: into a throw-away box, or into a directory.
func (m *model) askDrill(intoBox bool) tea.Cmd {
	e, _ := m.selectedBackup()
	text := "Its " + widget.Size(e.Bytes) + " are restored into a private directory of this machine, read from there, compared, and removed again. " +
		"Meanwhile they are on this disk unencrypted. The box and the backup stay as they are."
	if intoBox {
		text = "It is restored into a throw-away box with its own name and ports, and that box is compared with the backup. The software starts there without " +
			"a network, so that two boxes never use the same login. Then that box is removed. The box and the backup stay as they are."
	}
	q := confirm("Restore the backup of "+madeAt(e)+" as a trial?", text)
	q.yes = func(m *model) tea.Cmd {
		v := verbOf("drill")
		v.backup, v.done = e.ID, "the backup of "+madeAt(e)+" can be restored: no difference was found"
		v.do = func(ctx context.Context, b Box, sink ops.Sink) (any, error) {
			return result(b.Drill(ctx, e.ID, intoBox, sink))
		}
		return m.begin(v)
	}
	m.dialog = q
	return nil
}

// askExport asks for the file into which the selected backup is exported.
func (m *model) askExport() tea.Cmd {
	e, _ := m.selectedBackup()
	q := form("Export the backup of "+madeAt(e), "The new file holds the backup and all software that a restore needs. "+
		"The key of "+m.name()+" and the other recipients of the backups can open it; their passphrase cannot. "+
		m.typed("If there is no other recipient and no copy of the key, it opens only on this machine; to copy the key: hermes-box key export FILE.")+relative,
		widget.Field{Text: e.ID + ".hermes-box", Check: notEmpty})
	q.Yes = "export"
	q.yes = func(m *model) tea.Cmd {
		path := homePath(q.Value(0))
		return m.begin(verb{name: "export", backup: e.ID, form: q, cancel: "The file is not made.", done: "the backup is in " + path,
			do: func(ctx context.Context, b Box, sink ops.Sink) (any, error) {
				return result(b.ExportBackup(ctx, e.ID, path, sink))
			}})
	}
	m.dialog = q
	return nil
}

// askGet asks which file to copy out of the selected backup and where to, and copies it.
func (m *model) askGet() tea.Cmd {
	e, _ := m.selectedBackup()
	q := form("Get files out of the backup of "+madeAt(e), "The path in the box, such as /workspace/api or /home/agent/.bashrc, and the directory on this machine "+
		"to copy it into. A directory comes with everything in it. Nothing is replaced."+relative,
		widget.Field{Name: "path", Text: "/workspace/", Check: notEmpty}, widget.Field{Name: "into", Default: "."})
	q.yes = func(m *model) tea.Cmd { return m.get(e.ID, q.Value(0), q.Value(1), q) }
	q.Yes = "copy"
	m.dialog = q
	return nil
}

// askWhere asks for the directory into which a file is copied out of a backup, and copies the file.
func (m *model) askWhere(id, path string) tea.Cmd {
	q := form("Get "+widget.Clean(path), "The directory on this machine to copy it into. Nothing in it is replaced."+relative,
		widget.Field{Default: "."})
	q.yes = func(m *model) tea.Cmd { return m.get(id, path, q.Value(0), q) }
	q.Yes = "copy"
	m.dialog = q
	return nil
}

// get copies a file or a directory out of a backup. form is the question in which the texts were typed.
func (m *model) get(id, path, dir string, form *question) tea.Cmd {
	dir = homePath(dir)
	return m.begin(verb{name: "copy", backup: id, form: form, cancel: "What was copied is removed again.", done: widget.Clean(path) + " is copied into " + dir,
		do: func(ctx context.Context, b Box, sink ops.Sink) (any, error) {
			return result(b.GetFile(ctx, id, path, dir, sink))
		}})
}

// relative ends the text of a question that asks for a path on this machine.
const relative = " A relative path begins where the dashboard was started."

// form returns a question that is answered with texts.
func form(title, text string, fields ...widget.Field) *question {
	q := confirm(title, text)
	q.No = "cancel"
	q.Ask(fields...)
	return q
}

// notEmpty returns a text that asks for a path if path is empty, and "" otherwise.
func notEmpty(path string) string {
	if strings.TrimSpace(path) == "" {
		return "type a path"
	}
	return ""
}

// noPassphrase returns a text that asks for the passphrase if text is empty, and "" otherwise.
func noPassphrase(text string) string {
	if text == "" {
		return "type the passphrase"
	}
	return ""
}

// homePath replaces ~/ at the beginning of a path with the home directory, and removes spaces around the path: a terminal
// adds one behind a file that is dragged into it.
func homePath(path string) string {
	path = strings.TrimSpace(path)
	rest, ok := strings.CutPrefix(path, "~/")
	home, err := os.UserHomeDir()
	if !ok || err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

// result returns r as any, or nil with an error: a nil *T that is converted to any is not equal to nil.
func result[T any](r *T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}
