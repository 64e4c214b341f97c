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
	q := form("Restore "+m.name()+" from a file", "The file that hermes-box backup export wrote. All of it is checked before anything is made.",
		widget.Field{Check: notEmpty})
	q.Yes = "next"
	q.Effect = func() string { return m.effect("reads ", q.Value(0)) }
	q.yes = func(m *model) tea.Cmd {
		m.dialog, q.waits = q, true
		file := m.localPath(q.Value(0))
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
		"Leave this empty if the key of "+m.name()+" is on this machine.", widget.Field{}
	if msg.passphrase {
		text, field = "The passphrase that it was exported with.", widget.Field{Secret: true, Check: noPassphrase}
	}
	q := form(msg.asked.Title, text, field)
	q.Yes = "restore it"
	if !msg.passphrase {
		q.Effect = func() string { return m.effect("reads ", q.Value(0)) }
	}
	q.yes = func(m *model) tea.Cmd {
		from := RestoreFrom{Backup: msg.file}
		if msg.passphrase {
			from.Passphrase = q.Value(0)
		} else {
			from.Identity = m.localPath(q.Value(0))
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
	text := "Its " + widget.Size(e.Bytes) + " are restored into " + widget.Clean(m.known.DrillDir) + ", read from there, compared, and removed again. " +
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
		"The key of "+m.name()+" and the other recipients of the backups open it; the passphrase of the backups does not. "+
		m.typed("Without another recipient or a copy of the key, it opens only on this machine; to copy the key: hermes-box key export FILE"),
		widget.Field{Text: e.ID + ".hermes-box", Check: notEmpty})
	q.Yes = "export"
	q.Effect = func() string { return m.effect("writes ", q.Value(0)) }
	q.yes = func(m *model) tea.Cmd {
		path := m.localPath(q.Value(0))
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
		"to copy it into. A directory comes with everything in it. Nothing is replaced.",
		widget.Field{Name: "path", Text: "/workspace/", Check: notEmpty}, widget.Field{Name: "into", Default: "."})
	q.yes = func(m *model) tea.Cmd { return m.get(e.ID, q.Value(0), q.Value(1), q) }
	q.Yes = "copy"
	q.Effect = func() string { return m.copyEffect(q.Value(0), q.Value(1)) }
	m.dialog = q
	return nil
}

// askWhere asks for the directory into which a file is copied out of a backup, and copies the file.
func (m *model) askWhere(id, path string) tea.Cmd {
	q := form("Get "+widget.Clean(path), "The directory on this machine to copy it into. Nothing in it is replaced.",
		widget.Field{Default: "."})
	q.yes = func(m *model) tea.Cmd { return m.get(id, path, q.Value(0), q) }
	q.Yes = "copy"
	q.Effect = func() string { return m.copyEffect(path, q.Value(0)) }
	m.dialog = q
	return nil
}

// get copies a file or a directory out of a backup. form is the question in which the texts were typed.
func (m *model) get(id, path, dir string, form *question) tea.Cmd {
	dir = m.localPath(dir)
	return m.begin(verb{name: "copy", backup: id, form: form, cancel: "What was copied is removed again.", done: widget.Clean(path) + " is copied into " + dir,
		do: func(ctx context.Context, b Box, sink ops.Sink) (any, error) {
			return result(b.GetFile(ctx, id, path, dir, sink))
		}})
}

// effect says what is done with a path of this machine, which it shows as an absolute path; empty without a path.
func (m *model) effect(does, path string) string {
	if notEmpty(path) != "" {
		return ""
	}
	return does + m.localPath(path)
}

// copyEffect says what a copy out of a backup makes in a directory. A path that is not on the data disk is refused
// later.
func (m *model) copyEffect(path, dir string) string {
	name, err := ops.GotName(path)
	if err != nil {
		return m.effect("copies into ", dir)
	}
	return m.effect("makes ", filepath.Join(m.localPath(dir), name))
}

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

// localPath returns what was typed as an absolute path of this machine; empty if nothing was typed. ~ is the home
// directory. Spaces around the path are removed: a terminal adds one behind a file that is dragged into it.
func (m *model) localPath(path string) string {
	path = strings.TrimSpace(path)
	rest, ok := strings.CutPrefix(path+"/", "~/")
	home, err := os.UserHomeDir()
	switch {
	case ok && err == nil:
		return filepath.Join(home, rest)
	case path == "" || filepath.IsAbs(path):
		return path
	}
	return filepath.Join(m.dir, path)
}

// result returns r as any, or nil with an error: a nil *T that is converted to any is not equal to nil.
func result[T any](r *T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}
