package tui

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"hermes-box/internal/age"
	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/tui/widget"
)

// backups is the view of the backups of the box. Their list is in Known.
type backups struct {
	list widget.List
	id   string // of the selected backup, which stays selected when the list changes
}

// settle finds the selected backup again in a list that may have changed.
func (b *backups) settle(all []backup.Envelope) {
	for i := range all {
		if all[i].ID == b.id {
			b.list.At = i
			return
		}
	}
	b.list.Move(0, len(all))
	b.id = ""
	if b.list.At < len(all) {
		b.id = all[b.list.At].ID
	}
}

// selected returns the selected backup, or false if there is none.
func (b *backups) selected(all []backup.Envelope) (backup.Envelope, bool) {
	b.settle(all)
	if len(all) == 0 {
		return backup.Envelope{}, false
	}
	return all[b.list.At], true
}

func (b *backups) move(all []backup.Envelope, by int) {
	b.settle(all)
	b.list.Move(by, len(all))
	b.id = ""
	b.settle(all)
}

// pick selects the backup on line y, below the header, the edge of the panel and the names of the columns.
func (b *backups) pick(all []backup.Envelope, y int) {
	if row, ok := b.list.Row(y-3, len(all)); ok {
		b.move(all, row-b.list.At)
	}
}

// view lists the backups, and below them all that is known about the selected one: exactly h lines of w cells.
func (b *backups) view(p page, s *state, w, h int) []string {
	all := s.known.Backups
	e, ok := b.selected(all)
	title := p.Title.Render("backups")
	if timer := s.status().Schedule; timer != nil && timer.Every != "" && timer.Problem == "" {
		title += p.Dim.Render("  one every " + timer.Every)
	}
	var lines []string
	switch {
	case s.known.BackupsErr != nil:
		lines = widget.Wrap(p.Bad.Render("✗ ")+widget.Clean(s.known.BackupsErr.Error()), w-4)
	case len(all) == 0:
		lines = widget.Wrap(s.name()+" has no backup yet. A backup holds everything on the data disk: your work, your logins, the agents' memory. "+
			"It is encrypted, and it is listed here once it was read back and compared.", w-4)
		lines = append(lines, "", p.Key.Render("n")+" makes one")
	}
	if !ok {
		return p.Focused().Panel(title, w, h, lines)
	}
	about := aboutBackup(p, s, e, w-4)
	below := min(len(about)+2, h*3/5)
	top := h - below
	rows := max(1, top-3)
	limit := ""
	if rows > 4 { // with less room, only the facts about the selected backup say it
		limit = s.limitText(w - 4)
	}
	if limit != "" {
		rows--
	}
	from, to := b.list.Window(len(all), rows)
	if to-from < len(all) {
		title += p.Dim.Render("  " + fromTo(from, to, len(all)))
	} else {
		title += p.Dim.Render("  " + widget.Count(len(all), "backup"))
	}
	lines = append(lines, b.rows(p, s, w-4, from, to)...)
	if limit != "" {
		for len(lines) < top-3 {
			lines = append(lines, "")
		}
		lines = append(lines, p.Dim.Render(limit))
	}
	name := p.Title.Render(or(widget.Clean(e.Label), "backup"))
	return append(p.Focused().Panel(title, w, top, lines), p.Panel(name, w, below, about)...)
}

// The widths of the columns of the list. The state takes the rest.
const (
	markCells, ageCells, sizeCells, stateCells = 2, 9, 11, 22
)

// columns returns the widths of the columns of labels and of added bytes in a list of w cells; 0 for one that is left
// out. If there is a label, labels are shown; with little room, instead of the added bytes.
func columns(all []backup.Envelope, w int) (label, added int) {
	const name = len("label  ")
	for _, e := range all {
		if e.Label != "" {
			label = max(label, name, ansi.StringWidth(widget.Clean(e.Label))+2)
		}
	}
	room := w - markCells - ageCells - sizeCells - stateCells
	if label == 0 || room >= sizeCells+min(label, 12) {
		added = sizeCells
	}
	return max(0, min(label, room-added)), added
}

// rows draws the names of the columns, then the backups s.known.Backups[from:to].
func (b *backups) rows(p page, s *state, w, from, to int) []string {
	labelW, addedW := columns(s.known.Backups, w)
	label := func(text string) string {
		if labelW == 0 {
			return ""
		}
		return widget.Fit(text, labelW-2) + "  "
	}
	out := []string{p.Dim.Render(widget.Fit(strings.Repeat(" ", markCells)+widget.Fit("age", ageCells)+widget.Fit("size", sizeCells)+
		widget.Fit("added", addedW)+label("label")+"state", w))}
	for i := from; i < to; i++ {
		e := s.known.Backups[i]
		mark, when := "  ", widget.Fit(ageOf(p, e), ageCells)
		if i == b.list.At {
			mark, when = p.Accent.Render("▸ "), p.Title.Render(when)
		}
		size, added := "", ""
		if e.Damaged == "" {
			size, added = widget.Size(e.Bytes), "+"+widget.Size(e.Added)
		}
		line := mark + when + widget.Fit(size, sizeCells) + widget.Fit(added, addedW) + label(widget.Clean(e.Label))
		room := w - ansi.StringWidth(line)
		if o := s.own; o != nil && o.verb.backup == e.ID && len(o.steps) > 0 && o.steps[0].state == stepRunning {
			line += o.steps[0].progress(p, room)
		} else {
			line += backupSign(p, s, e, room)
		}
		out = append(out, widget.Fit(line, w))
	}
	return out
}

// ageOf returns how long ago a backup was made. For a damaged backup, only the time in its ID is known.
func ageOf(p page, e backup.Envelope) string {
	at := e.Time
	if e.Damaged != "" {
		var err error
		if at, _, err = backup.ParseID(e.ID); err != nil {
			return "unknown"
		}
	}
	return age.Format(p.now.Sub(at))
}

// backupSign draws the state of a backup in w cells, shortened if it does not fit.
func backupSign(p page, s *state, e backup.Envelope, w int) string {
	var texts []string // the longest first
	tone := widget.Bad
	glyph := "✗"
	switch {
	case e.Repairable:
		texts = []string{"its record is damaged", "damaged"}
	case e.Damaged != "":
		texts = []string{"damaged"}
	case e.Failed != "":
		texts = []string{"failed its verification", "damaged"}
	case e.Partial():
		glyph, tone = "!", widget.Warn
		texts = []string{"partial, " + widget.Count(e.Problems, "file") + " not read", "partial"}
	default:
		glyph, tone = "✓", widget.Good
		texts = []string{"verified " + age.Format(p.now.Sub(e.Verified)) + " ago", "verified"}
	}
	if s.known.Lasts[e.ID] == 1 {
		texts = append([]string{texts[0] + "; the next backup deletes it"}, texts...)
	}
	text := texts[len(texts)-1]
	for _, t := range texts {
		if ansi.StringWidth(t)+2 <= w {
			text = t
			break
		}
	}
	return p.Sign(sign(glyph, text, tone))
}

// aboutBackup returns all that is known about a backup, one fact a line.
func aboutBackup(p page, s *state, e backup.Envelope, w int) (out []string) {
	const label = 12
	fact := func(name, text string, ink widget.Ink) {
		for i, line := range widget.Wrap(widget.Clean(text), max(1, w-label)) {
			head := widget.Fit("", label)
			if i == 0 {
				head = p.Dim.Render(widget.Fit(name, label))
			}
			out = append(out, head+ink.Render(line))
		}
	}
	plain := widget.Ink{}
	if e.Damaged != "" {
		fact("damaged", e.Damaged, p.Bad)
		if e.Repairable {
			fact("repair", "v reads the backup, and writes its record again", plain)
		}
		fact("id", e.ID, plain)
		return out
	}
	if e.Failed != "" {
		fact("failed", e.Failed, p.Bad)
	}
	if wrong := backup.WrongClock(s.known.Backups, p.now); wrong != "" && e.ID == s.known.Backups[0].ID {
		fact("clock", wrong+"; "+ops.ClockAdvice, p.Warn)
	}
	fact("made", e.Time.Local().Format(time.DateTime)+", of box "+e.Box+" ("+e.Arch+")", plain)
	fact("holds", widget.Count(e.Entries, "file")+", "+widget.Size(e.Bytes)+"; it added "+widget.Size(e.Added), plain)
	if e.Partial() {
		fact("partial", widget.Count(e.Problems, "file")+" could not be read", p.Warn)
	}
	fact("kept", s.keptText(e), plain)
	if e.Failed == "" {
		text := age.Format(p.now.Sub(e.Verified)) + " ago"
		if e.OldestRead.Before(e.Verified.Add(-time.Minute)) {
			text += "; its oldest data " + age.Format(p.now.Sub(e.OldestRead)) + " ago"
		}
		fact("verified", text, plain)
	}
	drilled, good := s.drilledText(e, p.now)
	if good {
		fact("drilled", drilled, plain)
	} else {
		fact("drilled", drilled, p.Bad)
	}
	fact("opened by", openers(e), plain)
	digest := "sha256:" + e.Digest
	if ansi.StringWidth(digest) > w-label {
		digest = short(digest)
	}
	fact("id", e.ID, plain)
	fact("digest", digest, plain)
	return out
}

// openers lists the recipients of a backup, shortened.
func openers(e backup.Envelope) string {
	var all []string
	for _, r := range e.Recipients {
		if len(r) > 16 {
			r = r[:12] + "…"
		}
		all = append(all, r)
	}
	return widget.Count(len(all), "recipient") + ": " + strings.Join(all, ", ")
}
