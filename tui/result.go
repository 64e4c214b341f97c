package tui

import (
	"fmt"
	"strings"
	"time"

	"hermes-box/internal/age"
	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/ops/suspect"
	"hermes-box/tui/widget"
)

// FrozenText says for how long programs in the box could not write during a backup; never "0s".
func FrozenText(made *ops.BackupMade) string {
	if made.Frozen < 0.1 {
		return "less than 0.1s"
	}
	return widget.Elapsed(time.Duration(made.Frozen * float64(time.Second)))
}

// resultLines describes the result of an operation in lines of w cells; nil if there is nothing to add. A line that
// needs attention begins with "!".
func resultLines(p page, result any, w int) (out []string) {
	say := func(format string, args ...any) {
		for _, line := range widget.Wrap(widget.Clean(fmt.Sprintf(format, args...)), w) {
			out = append(out, p.Dim.Render(line))
		}
	}
	warn := func(format string, args ...any) {
		for i, line := range widget.Wrap(p.typed(widget.Clean(fmt.Sprintf(format, args...))), w-2) {
			mark := "  "
			if i == 0 {
				mark = "! "
			}
			out = append(out, p.Warn.Render(mark+line))
		}
	}
	suspects := func(all []suspect.Entry) {
		for _, e := range all {
			warn("suspicious: %s", e)
		}
	}
	switch r := result.(type) {
	case *ops.Created:
		if r.Backup != nil {
			say("its first backup is made: %s, %s", widget.Count(r.Backup.Entries, "file"), widget.Size(r.Backup.Bytes))
			suspects(r.Backup.Suspects)
		}
	case *ops.Destroyed:
		if r.KeyMissing != nil {
			warn("its backups are kept, but %s → %s", r.KeyMissing.Warning, r.KeyMissing.Repair)
			for _, what := range r.Opening {
				say("%s opens them", what)
			}
		}
		if r.Backup != nil {
			say("its newest backup is %s old: B lists the backups and restores the box", age.Format(p.now.Sub(r.Backup.Time)))
		}
	case *ops.BackupMade:
		say("%s, %s; %s added on this disk", widget.Count(r.Entries, "file"), widget.Size(r.Bytes), widget.Size(r.Added))
		say("programs in the box could not write for %s", FrozenText(r))
		for _, id := range r.Deleted {
			say("backup.keep has deleted %s", id)
		}
		if r.Note != "" {
			say("%s", r.Note)
		}
		if r.Problems > 0 {
			warn("partial: %s could not be read", widget.Count(r.Problems, "file"))
		}
		for _, name := range r.Missing {
			warn("not kept with the backup, so that a restore has to fetch it: %s", name)
		}
		suspects(r.Suspects)
	case *backup.Report:
		say("%s, %s and %s read", widget.Count(r.Entries, "file"), widget.Size(r.Bytes), widget.Count(r.Chunks, "chunk"))
		if r.Repaired != "" {
			warn("its record could not be used, and was written again: %s", r.Repaired)
		}
		for _, name := range r.NotChecked {
			warn("not checked: %s", name)
		}
	case *ops.BackupExported:
		say("%s, read back and compared; opened by the identity of %s", widget.Size(r.Size), widget.Count(len(r.Recipients), "recipient"))
		if r.OnlyKey {
			warn("only this machine has the key: without a copy of the key, the file cannot be opened elsewhere → hermes-box key export FILE")
		}
		for _, name := range r.Missing {
			warn("not in it: %s", name)
		}
	case *ops.Drill:
		say("%s, %s compared; the report is %s", widget.Count(r.Entries, "file"), widget.Size(r.Bytes), r.Report)
		var software []string
		for _, c := range r.Software {
			software = append(software, c.Name+" "+SignOf(c.State).Word)
		}
		if software != nil {
			say("without a network: %s", strings.Join(software, ", "))
		}
		if r.Problem != "" {
			warn("without a network: %s", r.Problem)
		}
		for _, not := range r.NotCompared {
			say("not compared: %s", not)
		}
		if r.Missing > 0 {
			warn("the backup is partial: %s could not be read when it was made", widget.Count(r.Missing, "file"))
		}
	case *ops.BackupGot:
		say("%s, %s", widget.Count(r.Files, "file"), widget.Size(r.Bytes))
		for _, path := range r.Skipped {
			warn("not copied, since it is a socket, a pipe or a device: %s", path)
		}
	case *ops.Restored:
		if w := r.KeyWarning(); w != nil {
			warn("%s → %s", w.Warning, w.Repair)
		}
		say("%s, %s, all compared with the backup, which is %s old", widget.Count(r.Entries, "file"), widget.Size(r.Bytes), age.Format(p.now.Sub(r.Time)))
		if r.LockFile != "" {
			say("%s is written, from the backup", r.LockFile)
		}
		if r.Missing > 0 {
			warn("missing: %s that could not be read when the backup was made", widget.Count(r.Missing, "file"))
		}
		if len(r.Lost) > 0 {
			warn("%s cannot be kept on this disk, such as %s of %s", widget.Count(len(r.Lost), "attribute"), r.Lost[0].Part, r.Lost[0].Path)
		}
		suspects(r.Suspects)
		warn("if the old box still runs, stop it: both have the same logins, and each can sign the other out")
	}
	return out
}
