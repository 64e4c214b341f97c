package guest

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"hermes-box/guest/protocol"
)

// maxKilled is the largest number of killed processes that Status names.
const maxKilled = 5

// killed returns the processes that the kernel has killed since the boot because memory ran out: how many there were,
// and the last few by name. The count is cheap to read. The kernel's log is read only if the count is not zero;
// without privilege that needs kernel.dmesg_restrict=0. The log is a ring buffer, so old names may be missing.
func (g *Guest) killed() (count int, last []protocol.Killed) {
	count = oomKills(g.read("/proc/vmstat"))
	if count == 0 {
		return 0, nil
	}
	uptime := time.Duration(firstNumber(g.read("/proc/uptime")) * float64(time.Second))
	return count, parseKilled(g.Machine.KernelLog(), g.now().Add(-uptime))
}

// oomKills reads the counter of /proc/vmstat.
func oomKills(vmstat string) int {
	for line := range strings.Lines(vmstat) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			count, _ := strconv.Atoi(strings.TrimSpace(n))
			return count
		}
	}
	return 0
}

// killLine matches the line of the kernel's log for a killed process, and captures the seconds since the boot, the pid
// and the name. A name may hold anything, parentheses too.
var killLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^<\d+>\[ *(\d+\.\d+)\](?:\[ *[CT]\d+\])? (?:Memory cgroup out|Out) of memory(?: \(oom_kill_allocating_task\))?: Killed process (\d+) \((.*)\) total-vm:`)
})

// parseKilled finds the last killed processes in the kernel's log.
func parseKilled(log string, boot time.Time) (all []protocol.Killed) {
	lines := killLine().FindAllStringSubmatch(log, -1)
	for _, m := range lines[max(0, len(lines)-maxKilled):] {
		seconds, _ := strconv.ParseFloat(m[1], 64)
		pid, _ := strconv.Atoi(m[2])
		at := boot.Add(time.Duration(seconds * float64(time.Second))).UTC().Truncate(time.Second)
		all = append(all, protocol.Killed{At: at.Format(time.RFC3339), PID: pid, Process: m[3]})
	}
	return all
}
