package ops

import (
	"context"
	"fmt"
	"time"

	"hermes-box/guest/protocol"
)

// OutOfMemory returns a line about the processes that the kernel of the box has killed since its boot because memory
// ran out: it names the last one and gives their number. It returns "" if there are none.
func OutOfMemory(g *protocol.Status) string {
	if g == nil || g.OOMKills == 0 {
		return ""
	}
	since := ""
	if g.OOMKills > 1 {
		since = fmt.Sprintf("; %d processes since the boot", g.OOMKills)
	}
	if len(g.Killed) == 0 {
		return "memory ran out: the kernel killed a process" + since
	}
	last := g.Killed[len(g.Killed)-1]
	when := ""
	if at, err := time.Parse(time.RFC3339, last.At); err == nil {
		when = " on " + at.Local().Format("2 Jan 15:04")
	}
	return fmt.Sprintf("memory ran out%s: the kernel killed %s (pid %d)%s", when, last.Process, last.PID, since)
}

// checkMemory warns of processes that were killed because memory ran out.
func (in *insideChecks) checkMemory(context.Context) Check {
	if in.status == nil {
		return unknown(errNotAnswering, "")
	}
	if killed := OutOfMemory(in.status); killed != "" {
		return warn(killed, "hermes-box exec -- ps ax --sort=-rss -o pid,rss,args")
	}
	return pass(fmt.Sprintf("%s of %s, swap %s of %s", size(in.status.Memory.Used), size(in.status.Memory.Total),
		size(in.status.Swap.Used), size(in.status.Swap.Total)))
}
