package tui

import (
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
)

// The result of a backup shows its size, how long programs could not write, and what the backup lacks.
func TestResultOfABackup(t *testing.T) {
	m := on(withBackups())
	made := &ops.BackupMade{Envelope: envelope(0, ""), Frozen: 0.8, Note: "block snapshots are not built yet"}
	made.Problems = 2
	text := strings.Join(resultLines(m.page(), made, 200), "\n")
	for _, want := range []string{"12034 files, 3.0 GiB; 12 MiB added on this disk", "could not write for 0.8s", "partial: 2 files could not be read", "not built yet"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

func TestFrozenText(t *testing.T) {
	for seconds, want := range map[float64]string{0: "less than 0.1s", 0.099: "less than 0.1s", 0.8: "0.8s", 75: "1m15s"} {
		if got := FrozenText(&ops.BackupMade{Frozen: seconds}); got != want {
			t.Errorf("%v: %s", seconds, got)
		}
	}
}

// The progress of a backup shows the size of the last backup as an estimate of the total. Without a last backup, or
// beyond the estimate, only the bytes that are done are shown.
func TestBytesOfABackup(t *testing.T) {
	for _, c := range []struct {
		done, about int64
		want        string
	}{
		{1 << 30, 3 << 30, "1.0 of about 3.0 GiB"},
		{4 << 30, 3 << 30, "4.0 GiB · 5s"},
		{1 << 30, 0, "1.0 GiB · 5s"},
		{0, 0, "5s"},
	} {
		o := &operation{about: c.about, begun: noon}
		o.apply(ops.Event{Time: noon.Add(-5 * time.Second), Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "copy", Title: "copy"}}})
		o.apply(ops.Event{Time: noon.Add(-5 * time.Second), Kind: ops.Started, Step: "copy"})
		o.apply(ops.Event{Time: noon, Kind: ops.Bytes, Step: "copy", Done: c.done})
		m := on(withBackups())
		if got := o.steps[0].progress(m.page(), 60); !strings.Contains(got, c.want) {
			t.Errorf("%d of about %d: %q", c.done, c.about, got)
		}
	}
}
