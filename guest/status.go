package guest

import (
	"cmp"
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"hermes-box/guest/bootstrap"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// statusTime is the timeout of everything that Status waits for. A part that does not answer in time is reported as a
// problem.
const statusTime = 8 * time.Second

// Status reports the state of the machine, the disks and the components. It changes nothing, needs no privilege and
// starts no program while all is well, because the dashboard calls it every few seconds. If the data disk, the
// components, the applied lock or the journal cannot be read, the status reports that as a problem of that part, and
// Status returns no error.
func (g *Guest) Status(ctx context.Context) (protocol.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	s := protocol.Status{Protocol: protocol.Version, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	g.machineStatus(&s)
	var wait sync.WaitGroup
	var panicked [2]any
	for i, part := range []func(){func() { g.dataStatus(ctx, &s) }, func() { s.Components = g.componentHealth(ctx) }} {
		wait.Go(func() {
			defer func() { panicked[i] = recover() }()
			part()
		})
	}
	wait.Wait()
	if p := cmp.Or(panicked[:]...); p != nil {
		panic(p) // in the goroutine of the caller, who reports it
	}
	var err error
	if s.Lock, err = g.AppliedLock(); err != nil {
		s.Lock, s.LockProblem = "", "the applied lock cannot be read: "+err.Error()
	}
	switch j, err := g.readJournal(); {
	case err != nil:
		s.Journal = err.Error()
	case j != nil:
		s.Journal = j.String()
	}
	// Read the clock last, so that the waits above do not count as a difference of the clocks.
	s.Now = g.now().Format(time.RFC3339Nano)
	return s, nil
}

// dataStatus reports the file system at /data, and what is wrong with it.
func (g *Guest) dataStatus(ctx context.Context, s *protocol.Status) {
	if err := g.CheckData(ctx); err != nil {
		s.DataProblem = err.Error()
		s.DataUUID, _ = g.Machine.MountedUUID(ctx, g.Path(protocol.DataDir)) // DataProblem is enough if this fails too
		return
	}
	s.DataUUID, _ = bootstrap.RecordedUUID(g.Tree)
	s.Data = g.Machine.Usage(g.Path(protocol.DataDir))
}

// machineStatus reads the state of the machine. Values that cannot be read stay zero.
func (g *Guest) machineStatus(s *protocol.Status) {
	s.OS = osName(g.read("/etc/os-release"))
	s.Kernel = strings.TrimSpace(g.read("/proc/sys/kernel/osrelease"))
	s.Uptime = int64(firstNumber(g.read("/proc/uptime")))
	s.Load = firstNumber(g.read("/proc/loadavg"))
	s.Memory, s.Swap = machine.Memory(g.read("/proc/meminfo"))
	s.OOMKills, s.Killed = g.killed()
	s.Root = g.Machine.Usage(g.Path("/"))
}

func (g *Guest) read(path string) string {
	text, _ := os.ReadFile(g.Path(path)) // a stand-in machine may not have the file
	return string(text)
}

// firstNumber parses the number that text begins with.
func firstNumber(text string) float64 {
	first, _, _ := strings.Cut(text, " ")
	n, _ := strconv.ParseFloat(strings.TrimSpace(first), 64)
	return n
}

// osName returns PRETTY_NAME of os-release.
func osName(text string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}
