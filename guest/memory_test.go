package guest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hermes-box/guest/durable"
	"hermes-box/guest/protocol"
)

// logged is a machine that has only a kernel log.
type logged struct {
	Machine
	log  string
	read *bool
}

func (m logged) KernelLog() string { *m.read = true; return m.log }

// A process that was killed because memory ran out is named, with the time. If there was none, the kernel log is not
// read.
func TestProcessesKilledForLackOfMemory(t *testing.T) {
	const log = `<6>[    0.000000] Linux version 6.12
<4>[  100.250000] python3 invoked oom-killer: gfp_mask=0x140cca, order=0, oom_score_adj=300
<3>[  100.500000] Out of memory: Killed process 1234 (python3) total-vm:4194304kB, anon-rss:3900000kB, file-rss:0kB, UID:1000 pgtables:7000kB oom_score_adj:300
<6>[  101.000000] oom_reaper: reaped process 1234 (python3), now anon-rss:0kB
<3>[  160.000000][  T9876] Memory cgroup out of memory: Killed process 77 (a) b) total-vm:1kB, anon-rss:1kB
<6>[  161.000000] agent: Out of memory: Killed process 1 (systemd) total-vm:1kB
`
	now := time.Date(2026, 3, 1, 12, 10, 0, 0, time.UTC)
	var asked bool
	g := &Guest{Machine: logged{log: log, read: &asked}, Tree: durable.Tree{Root: t.TempDir()}, Now: func() time.Time { return now }}
	proc := filepath.Join(g.Root, "proc")
	if err := os.Mkdir(proc, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(proc, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("uptime", "600.00 1100.00\n")
	for vmstat, want := range map[string]int{"": 0, "pgfault 12\noom_kill 0\n": 0, "pgfault 12\noom_kill 2\nswpin_zero 0\n": 2} {
		write("vmstat", vmstat)
		asked = false
		count, last := g.killed()
		if count != want || asked != (want > 0) {
			t.Errorf("%q: %d killed, kernel's log read: %v", vmstat, count, asked)
		}
		if want == 0 {
			continue
		}
		if w := []protocol.Killed{{At: "2026-03-01T12:01:40Z", PID: 1234, Process: "python3"}, {At: "2026-03-01T12:02:40Z", PID: 77, Process: "a) b"}}; !slices.Equal(last, w) {
			t.Errorf("killed %+v, want %+v", last, w)
		}
	}
	var long string
	for range 8 {
		long += "<3>[  160.000000] Out of memory: Killed process 77 (x) total-vm:1kB\n"
	}
	if last := parseKilled(long, now); len(last) != maxKilled {
		t.Errorf("%d processes are named", len(last))
	}
}
