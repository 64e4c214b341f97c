package guest

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"hermes-box/guest/bootstrap"
	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// statusTime bounds everything Status waits for; what does not answer by then is reported as such.
const statusTime = 8 * time.Second

// Status tells all there is to see in one look: the machine, the disks, what is applied and whether it works.
// It changes nothing, needs no privilege and starts one program at most, for the dashboard asks every few
// seconds. A part that cannot be read is told as a problem of that part, never as an error of the whole.
func (g *Guest) Status(ctx context.Context) (protocol.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	s := protocol.Status{Protocol: protocol.Version, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	g.machineStatus(&s)
	var wait sync.WaitGroup
	wait.Go(func() { g.dataStatus(ctx, &s) })
	wait.Go(func() { s.Components = g.componentStatus(ctx) })
	wait.Wait()
	var err error
	if s.Lock, err = g.AppliedLock(); err != nil {
		s.Lock, s.LockProblem = "", "what was applied last cannot be read: "+err.Error()
	}
	switch j, err := g.readJournal(); {
	case err != nil:
		s.Journal = err.Error()
	case j != nil:
		s.Journal = j.String()
	}
	// Read last, so that the host's comparison of clocks holds no waiting.
	s.Now = g.now().Format(time.RFC3339Nano)
	return s, nil
}

// componentStatus asks systemd once about all services.
func (g *Guest) componentStatus(ctx context.Context) []protocol.ComponentStatus {
	units, err := g.Machine.Units(ctx, layout.HermesUnit, layout.ExecutorUnit)
	if err == nil {
		var all []protocol.ComponentStatus
		if all, err = g.componentHealth(ctx, units); err == nil {
			return all
		}
	}
	var all []protocol.ComponentStatus
	for _, c := range component.All() {
		all = append(all, protocol.ComponentStatus{Name: c.Name(), State: protocol.FailedState, Detail: err.Error()})
	}
	return all
}

// dataStatus tells what is mounted at /data and, if it is not what it should be, why.
func (g *Guest) dataStatus(ctx context.Context, s *protocol.Status) {
	if err := g.CheckData(ctx); err != nil {
		s.DataProblem = err.Error()
		s.DataUUID, _ = g.Machine.MountedUUID(ctx, g.Path(protocol.DataDir)) // the problem says it already
		return
	}
	s.DataUUID, _ = bootstrap.RecordedUUID(g.Tree)
	s.Data = g.Machine.Usage(g.Path(protocol.DataDir))
}

// machineStatus reads what the kernel tells of the machine; what it does not tell stays zero.
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
	text, _ := os.ReadFile(g.Path(path)) // missing on a stand-in machine
	return string(text)
}

func firstNumber(text string) float64 {
	first, _, _ := strings.Cut(text, " ")
	n, _ := strconv.ParseFloat(strings.TrimSpace(first), 64)
	return n
}

// osName is PRETTY_NAME of os-release.
func osName(text string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}
