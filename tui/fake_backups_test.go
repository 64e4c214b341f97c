package tui

import (
	"strings"
	"time"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops"
	"hermes-box/ops/backup"
)

// envelope returns a good backup that was made some time before noon.
func envelope(before time.Duration, label string) backup.Envelope {
	at := noon.Add(-before)
	return backup.Envelope{ID: at.Format("20060102T150405Z") + "-" + label, Time: at, Box: "main", Label: label, Arch: "arm64",
		Digest: strings.Repeat("1a2b3c4d", 8), Recipients: []string{"age1" + strings.Repeat("q", 58), "age1" + strings.Repeat("z", 58)},
		Entries: 12034, Bytes: 3 << 30, Added: 12 << 20, Chunks: 812, ReadBack: 9, Verified: at, OldestRead: at}
}

// someBackups returns a backup in each state, newest first: the first is the newest good one.
func someBackups() []backup.Envelope {
	all := []backup.Envelope{envelope(2*time.Hour, "before-update"), envelope(26*time.Hour, ""), envelope(50*time.Hour, ""),
		envelope(74*time.Hour, "monday"), envelope(98*time.Hour, "")}
	all[0].OldestRead = noon.Add(-98 * time.Hour)
	all[1].Problems = 2
	all[2].Failed = "the backup is damaged: 3 of its 12034 entries cannot be restored, such as \"home/agent/notes.txt\""
	all[3] = backup.Envelope{ID: all[3].ID, Damaged: all[3].ID + ".json is damaged: unexpected end of JSON input"}
	all[4].Added = 3 << 30
	return all
}

// someFiles returns the list of files of a backup.
func someFiles() []ops.BackupFile {
	file := func(name string, typ tree.Type, mode uint32, size int64) ops.BackupFile {
		return ops.BackupFile{Name: name, Path: []byte(name), Type: typ, Mode: mode, Size: size, MTime: noon.Add(-time.Hour).UnixNano()}
	}
	all := []ops.BackupFile{file(".", tree.Dir, 0o755, 0), file("home", tree.Dir, 0o755, 0), file("home/agent", tree.Dir, 0o700, 0),
		file("home/agent/note s.txt", tree.File, 0o600, 212), file("home/agent/workspace/api/main.go", tree.File, 0o644, 43<<10),
		file("home/agent/workspace/"+strings.Repeat("a-long-directory/", 8)+"disk.img", tree.File, 0o600, 2<<30), file("home/agent/link", tree.Symlink, 0o777, 0), file("home/agent/pipe", tree.Fifo, 0o644, 0)}
	all[len(all)-2].Target = []byte("workspace/api")
	return all
}

// withBackups returns a running box with these backups.
func withBackups(all ...backup.Envelope) *fake {
	f := withStatus(runningStatus())
	f.known.Backups, f.known.Created = all, noon.Add(-30*24*time.Hour)
	f.known.Keep, f.known.Lasts = 3, backup.Lasts(all, 3, "")
	return f
}

// timed returns a running box with a backup and a timer.
func timed(timer *ops.BackupSchedule) *fake {
	f := withBackups(envelope(2*time.Hour, ""))
	f.known.Status.Schedule = timer
	return f
}

// keyless returns a box with a backup, whose key is lost.
func keyless(st *ops.Status) *fake {
	f := withBackups(envelope(2*time.Hour, ""))
	st.Key = &ops.Advised{Warning: `the identity of box "main" is missing: /srv/home/keys/main.age-identity: not found`, Repair: "hermes-box key import FILE"}
	f.known.Status = st
	return f
}

// noBoxWith returns a box that does not exist, but has these backups.
func noBoxWith(all ...backup.Envelope) *fake {
	f := noBox()
	f.known.Backups = all
	return f
}

// noLockWith returns a box that does not exist and has no lock, but has these backups.
func noLockWith(all ...backup.Envelope) *fake {
	f := noBoxWith(all...)
	f.known.Lock = nil
	return f
}
