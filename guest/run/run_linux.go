package run

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// attributes returns settings that start a command in a new process group, and make the kernel kill the command when
// the thread that started it ends, at the latest with this process.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// descendants returns the children of a process, their children and so on. A shell with job control starts them in
// process groups of their own.
func descendants(pid int) (all []int) {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// "pid (name) state ppid ...", and the name may contain anything
		_, rest, _ := strings.Cut(string(data[strings.LastIndexByte(string(data), ')')+1:]), " ")
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			continue
		}
		child, err1 := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent, err2 := strconv.Atoi(fields[1])
		if err1 == nil && err2 == nil {
			children[parent] = append(children[parent], child)
		}
	}
	for next := []int{pid}; len(next) > 0; {
		found := children[next[0]]
		all, next = append(all, found...), append(next[1:], found...)
	}
	return all
}
