package limactl

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dieWithUs has the system end a child whose parent was killed: a limactl that goes on alone would make what the next
// command has already looked for in vain. The host agent, a child of limactl, lives on.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// hangUpWithUs does that to a child that has our terminal: it gives the terminal back.
func hangUpWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGHUP }

// commandLine is the command line of a process, its arguments joined by blanks; empty if it has none.
func commandLine(pid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(data), "\x00", " "))
}
