package tui

import (
	"context"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/tui/widget"
)

// backupFiles is the view of the files in one backup. The list is read when the view opens, and dropped when it closes.
type backupFiles struct {
	of     backup.Envelope
	all    []ops.BackupFile
	found  []int // the files that match the query, as indexes into all
	err    error
	cancel context.CancelFunc // stops the reading; nil once the list has been read
	list   widget.List
	query  widget.Line
	typing bool
}

// filesMsg is the result of reading the list of a backup.
type filesMsg struct {
	id    string
	shown *ops.BackupShown
	err   error
}

// openFiles opens the view of the files in the selected backup, and reads their list.
func (m *model) openFiles() tea.Cmd {
	e, _ := m.selectedBackup()
	m.show(onFiles)
	ctx, cancel := context.WithCancel(m.ctx)
	m.files = backupFiles{of: e, cancel: cancel}
	return m.tasks.do(func() tea.Msg {
		defer cancel()
		shown, err := m.box.ShowBackup(ctx, e.ID)
		return filesMsg{e.ID, shown, err}
	})
}

// leaveFiles ends the search or, without a search, goes back to the backups.
func (m *model) leaveFiles() tea.Cmd {
	if m.files.query.Text != "" {
		m.files.search("")
		return nil
	}
	m.show(onBackups)
	return nil
}

// close drops the list, and stops reading it.
func (f *backupFiles) close() {
	if f.cancel != nil {
		f.cancel()
	}
	*f = backupFiles{}
}

// loaded takes the list, unless the view was closed or opened for another backup meanwhile.
func (f *backupFiles) loaded(msg filesMsg) {
	if f.cancel == nil || f.of.ID != msg.id {
		return
	}
	f.cancel()
	f.cancel, f.err = nil, msg.err
	if msg.err == nil {
		f.all = msg.shown.Files
	}
	f.search(f.query.Text)
}

// search shows the files whose path contains the text. It ignores case.
func (f *backupFiles) search(text string) {
	f.query.Text, f.found, f.list = text, nil, widget.List{}
	text = strings.ToLower(text)
	for i := range f.all {
		if text == "" || strings.Contains(strings.ToLower(f.all[i].Name), text) {
			f.found = append(f.found, i)
		}
	}
}

func (f *backupFiles) typeKey(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		f.typing = false
	case "esc", "ctrl+c":
		f.typing = false
		f.search("")
	default:
		if f.query.Key(k) {
			f.search(f.query.Text)
		}
	}
}

func (f *backupFiles) move(n int) { f.list.Move(n, len(f.found)) }

// pick selects the file on line y, below the header and the edge of the panel.
func (f *backupFiles) pick(y int) {
	if row, ok := f.list.Row(y-2, len(f.found)); ok {
		f.list.At = row
	}
}

// selected returns the selected file, or false if there is none.
func (f *backupFiles) selected() (ops.BackupFile, bool) {
	if f.list.At < len(f.found) {
		return f.all[f.found[f.list.At]], true
	}
	return ops.BackupFile{}, false
}

// view lists the files: exactly h lines of w cells.
func (f *backupFiles) view(p page, w, h int) []string {
	title := p.Title.Render("files") + p.Dim.Render("  "+madeAt(f.of))
	if f.of.Label != "" {
		title += p.Dim.Render("  " + widget.Clean(f.of.Label))
	}
	if f.typing || f.query.Text != "" {
		title += "  " + p.Key.Render("/") + widget.Clean(f.query.Text)
	}
	var lines []string
	from, to := f.list.Window(len(f.found), h-2)
	switch {
	case f.cancel != nil:
		lines = []string{p.Dim.Render("reading the list...")}
	case f.err != nil:
		lines = append(widget.Wrap(p.Bad.Render("✗ ")+widget.Clean(f.err.Error()), w-4), p.hint(f.err, w-4)...)
	case len(f.found) == 0:
		lines = []string{p.Dim.Render("no path has this text")}
	default:
		title += p.Dim.Render("  " + fromTo(from, to, len(f.found)))
	}
	for i := from; i < to; i++ {
		lines = append(lines, f.row(p, i, w-4))
	}
	return p.Focused().Panel(title, w, h, lines)
}

// modeText returns the type and the mode of a file as ls -l shows them, as in drwxr-x---.
func modeText(typ tree.Type, mode uint32) string {
	kind, ok := map[tree.Type]byte{tree.Dir: 'd', tree.File: '-', tree.Symlink: 'l', tree.Fifo: 'p', tree.Socket: 's', tree.Char: 'c', tree.Block: 'b'}[typ]
	if !ok {
		kind = '?'
	}
	text := append([]byte{kind}, os.FileMode(mode & 0o777).String()[1:]...)
	for _, special := range []struct {
		bit  uint32
		at   int    // of the x that it replaces
		with string // without and with that x
	}{{0o4000, 3, "Ss"}, {0o2000, 6, "Ss"}, {0o1000, 9, "Tt"}} {
		if mode&special.bit == 0 {
			continue
		}
		i := 0
		if text[special.at] == 'x' {
			i = 1
		}
		text[special.at] = special.with[i]
	}
	return string(text)
}

// row draws one file: its type, mode, size, time and path, and the target of a symlink. With little room only the type
// is left of the mode.
func (f *backupFiles) row(p page, i, w int) string {
	file := f.all[f.found[i]]
	size := "-"
	if file.Type == tree.File {
		size = widget.Size(file.Size)
	}
	facts := widget.Right(size, 9) + "  " + time.Unix(0, file.MTime).Local().Format("2006-01-02 15:04") + "  "
	mode := modeText(file.Type, file.Mode)
	if w < 72 {
		mode = mode[:1]
	}
	facts = mode + "  " + facts
	name, target := widget.Clean(file.Name), ""
	switch file.Type {
	case tree.Dir:
		name += "/"
	case tree.Symlink:
		target = " -> " + widget.Clean(string(file.Target))
	}
	mark := "  "
	if i == f.list.At {
		mark, name = p.Accent.Render("▸ "), p.Title.Render(widget.Flat(name))
	}
	room := w - ansi.StringWidth(mark) - ansi.StringWidth(facts)
	if over := ansi.StringWidth(name) - room; over > 0 {
		name = ansi.TruncateLeft(name, over+1, "…") // the end of a path says more than its beginning
	}
	return widget.Fit(mark+p.Dim.Render(facts)+name+p.Dim.Render(target), w)
}

// fileBindings returns the bindings of the view of files.
func fileBindings() []binding {
	return []binding{
		{id: "get-file", keys: []string{"f", "enter"}, label: "get", rank: 1, in: onFiles,
			effect: "copy the selected file or directory to this machine; asks where to",
			words:  "extract copy", why: whyNoFile, do: (*model).getFile},
		{id: "search-files", keys: []string{"/"}, label: "search", rank: 2, in: onFiles,
			effect: "search in the paths", words: "find grep filter",
			do: func(m *model) tea.Cmd { m.files.typing = true; m.files.search(""); return nil }},
	}
}

func whyNoFile(m *model) string {
	if _, ok := m.files.selected(); !ok {
		return "no file is selected"
	}
	return whyNotSecond(m)
}

// getFile asks where to copy the selected file to.
func (m *model) getFile() tea.Cmd {
	file, _ := m.files.selected()
	return m.askWhere(m.files.of.ID, string(file.Path))
}
