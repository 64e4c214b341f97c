package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes-box/internal/age"
	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/tui/widget"
)

// backupBindings returns the bindings of the view of backups.
func backupBindings() []binding {
	return []binding{
		{id: "new-backup", keys: []string{"n"}, label: "new", rank: 1, in: onBackups,
			effect: "make a backup now",
			words:  "backup make create", why: func(m *model) string { return m.whyNot("backup") },
			do: func(m *model) tea.Cmd { return m.pressID("backup") }},
		{id: "verify-backup", keys: []string{"v"}, label: "verify", rank: 2, in: onBackups,
			effect: "read all of the selected backup and compare every file with its digest",
			words:  "check read test", why: whyNotVerify, do: (*model).verifyBackup},
		{id: "delete-backup", keys: []string{"D"}, label: "delete", rank: 4, in: onBackups,
			effect: "delete the selected backup, after asking; never the only good one of its data disk",
			words:  "remove rm", why: whyNotDelete, do: (*model).askDelete},
		{id: "restore-backup", keys: []string{"r"}, label: "restore", rank: 1, in: onBackups,
			effect: "make the box anew from the selected backup, after asking; there must be no box",
			words:  "recover bring back undo disaster", why: whyNotRestore, do: (*model).askRestore},
		{id: "restore-file", keys: []string{"i"}, label: "restore file", rank: 3, in: onFirst | onBackups,
			effect: "make the box from an exported backup; asks for the file and for the identity that opens it",
			words:  "import recover other machine stick lost", why: whyNotRestoreFile, do: (*model).askRestoreFile},
		{id: "files", keys: []string{"enter"}, label: "files", rank: 2, in: onBackups,
			effect: "the files in the selected backup",
			words:  "show list content", why: whyNotShow, do: (*model).openFiles},
		{id: "drill-backup", keys: []string{"t"}, label: "drill", rank: 3, in: onBackups,
			effect: "restore the selected backup into a directory as a trial, compare every file, and remove the copy",
			words:  "test try rehearse trial", why: whyNotRead, do: func(m *model) tea.Cmd { return m.askDrill(false) }},
		{id: "drill-box", keys: []string{"T"}, label: "box drill", rank: 5, in: onBackups,
			effect: "restore the selected backup into a throw-away box as a trial, compare the two, start its software without a network, and remove the box",
			words:  "test try rehearse trial vm", why: whyNotRead, do: func(m *model) tea.Cmd { return m.askDrill(true) }},
		{id: "get-files", keys: []string{"f"}, label: "get files", rank: 3, in: onBackups,
			effect: "copy a file or a directory out of the selected backup to this machine; asks for both paths",
			words:  "extract single undelete", why: whyNotCopy, do: (*model).askGet},
		{id: "export-backup", keys: []string{"w"}, label: "export", rank: 3, in: onBackups,
			effect: "write the selected backup with all software into one file; asks for its path",
			words:  "write file move copy stick", why: whyNotCopy, do: (*model).askExport},
		{id: "cancel-verify", keys: []string{"x"}, label: "cancel", rank: 1, in: onBackups,
			effect: "cancel what is under way, after asking",
			words:  "abort stop interrupt", why: whyNotCancel, do: (*model).askCancel},
	}
}

// openBackups shows the backups, the newest selected unless the view of the files of one was open.
func (m *model) openBackups() tea.Cmd {
	if m.view != onFiles {
		m.backups = backups{}
	}
	m.show(onBackups)
	return m.readFiles()
}

func (m *model) selectedBackup() (backup.Envelope, bool) { return m.backups.selected(m.known.Backups) }

// whyNotBackup returns why the selected backup cannot be changed now; empty if it can.
func whyNotBackup(m *model) string {
	if _, ok := m.selectedBackup(); !ok {
		return "there is no backup"
	}
	return m.busy()
}

func whyNotVerify(m *model) string {
	return or(whyNotShow(m), m.busy())
}

// whyNotShow returns why the selected backup cannot be opened; empty if it can. A backup can be opened during an
// operation too.
func whyNotShow(m *model) string {
	e, ok := m.selectedBackup()
	switch {
	case !ok:
		return "there is no backup"
	case e.Damaged != "" && !e.Repairable:
		return "it is damaged and cannot be opened"
	}
	return ""
}

// whyNotRead returns why the selected backup cannot be read now; empty if it can.
func whyNotRead(m *model) string { return whyNotVerify(m) }

// whyNotCopy returns why nothing can be copied out of the selected backup now; empty if something can. A copy
// changes neither the box nor its backups, so it need not wait for another process.
func whyNotCopy(m *model) string { return or(whyNotShow(m), whyNotSecond(m)) }

// whyNotSecond returns why this dashboard cannot begin another operation; empty if it can.
func whyNotSecond(m *model) string {
	if m.own == nil {
		return ""
	}
	return m.busy()
}

func whyNotRestore(m *model) string {
	switch {
	case m.known.Exists && m.known.Ready:
		return "the box exists: a restore makes it anew, so destroy it first"
	case m.known.Exists:
		return "a create was cut off: destroy what is left first"
	}
	return whyNotRead(m)
}

// whyNotDelete returns why the selected backup cannot be deleted now; empty if it can be tried. Of the good backups of
// each data disk one stays.
func whyNotDelete(m *model) string {
	e, _ := m.selectedBackup()
	if e.Good() {
		all, ofDisk := 0, 0
		for _, other := range m.known.Backups {
			if !other.Good() {
				continue
			}
			all++
			if other.Disk == e.Disk {
				ofDisk++
			}
		}
		switch {
		case all == 1:
			return "it is the only good backup: n makes another one first"
		case ofDisk == 1:
			return "it is the only good backup of its data disk"
		}
	}
	return whyNotBackup(m)
}

// verifyBackup verifies the selected backup. Its progress is shown in the list.
func (m *model) verifyBackup() tea.Cmd {
	e, _ := m.selectedBackup()
	return m.beginBehind(verb{name: "verification", backup: e.ID, cancel: "Nothing is changed.",
		done: "the backup of " + madeAt(e) + " is good: every file matches its digest",
		do: func(ctx context.Context, b Box, sink ops.Sink) (any, error) {
			return oneStep(sink, "verify", "read the backup and compare each file", func(progress func(int64)) (any, error) {
				return b.VerifyBackup(ctx, e.ID, progress)
			}, e.Bytes)
		}})
}

func (m *model) askDelete() tea.Cmd {
	e, _ := m.selectedBackup()
	what := "Made " + age.Format(m.now().Sub(e.Time)) + " ago, " + widget.Size(e.Bytes) + ". "
	if !e.Good() {
		what = "It is damaged. If files can still be read from it and no other backup of its data disk is good, it is not deleted. "
	}
	q := confirm("Delete the backup "+e.ID+"?", what+"Versions of files that only this backup has cannot be restored afterwards.")
	q.yes = func(m *model) tea.Cmd {
		return m.beginBehind(verb{name: "deletion", backup: e.ID, cancel: "If the backup is no longer listed, it stays deleted.",
			done: "the backup " + e.ID + " is deleted",
			do: func(ctx context.Context, b Box, sink ops.Sink) (any, error) {
				return nil, b.DeleteBackup(ctx, e.ID, sink)
			}})
	}
	m.dialog = q
	return nil
}

// madeAt returns the time of a backup, for a sentence.
func madeAt(e backup.Envelope) string { return e.Time.Local().Format("2006-01-02 15:04") }

// oneStep runs do as an operation of one step that moves total bytes, and emits its events.
func oneStep(sink ops.Sink, id, title string, do func(progress func(done int64)) (any, error), total int64) (any, error) {
	begun := time.Now()
	emit := func(e ops.Event) {
		e.Time, e.Step, e.Title = time.Now(), id, title
		sink(e)
	}
	emit(ops.Event{Kind: ops.Planned, Steps: []ops.StepInfo{{ID: id, Title: title}}})
	emit(ops.Event{Kind: ops.Started})
	var last time.Time
	result, err := do(func(done int64) {
		if now := time.Now(); now.Sub(last) >= feedPace {
			last = now
			emit(ops.Event{Kind: ops.Bytes, Done: done, Total: total})
		}
	})
	if err != nil {
		emit(ops.Event{Kind: ops.Failed, Error: err.Error(), Seconds: time.Since(begun).Seconds()})
		return nil, err
	}
	emit(ops.Event{Kind: ops.Done, Seconds: time.Since(begun).Seconds()})
	return result, nil
}
