package limactl

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is the process that a pid file names.
type process struct {
	pid     int // 0: there is no file, or no pid in it
	alive   bool
	ours    bool   // its command line names this instance's directory; if alive and not ours, the pid was reused
	hidden  bool   // this user cannot see whether it is alive
	command string // command line, for messages
}

// facts is the content of an instance's files, read without limactl.
type facts struct {
	agent  process
	driver process
	last   *BootEvent // the last event of the host agent in this run; nil if there is none
}

// readFacts reads an instance's pid files and its host agent's event log.
func readFacts(dir, vmType string) facts {
	f := facts{agent: readPID(dir, "ha.pid"), driver: readPID(dir, driverPID(vmType))}
	if vmType == "" && !f.driver.alive {
		f.driver = readPID(dir, "vz.pid")
	}
	if f.agent.alive {
		f.last = lastEvent(filepath.Join(dir, "ha.stdout.log"))
	}
	return f
}

func driverPID(vmType string) string {
	if vmType == "" {
		vmType = "qemu"
	}
	return vmType + ".pid"
}

// readPID returns the process that a pid file names. It is ours if its command line has a path in the instance's
// directory: those of Lima's host agent (--pidfile) and of qemu (-pidfile, sockets) have one, and vz runs inside the
// host agent.
func readPID(dir, file string) process {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return process{hidden: !errors.Is(err, os.ErrNotExist)}
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 1 {
		return process{}
	}
	p := process{pid: pid}
	err = syscall.Kill(pid, 0)
	if err != nil && !errors.Is(err, syscall.EPERM) {
		return p
	}
	command, unseen := commandLine(pid)
	if command == "" {
		p.hidden = err != nil || unseen != nil // if it can be seen, it is exiting or a zombie
		return p
	}
	p.command = command
	p.alive = true
	p.ours = inside(p.command, dir)
	return p
}

// inside reports whether a command line has a path in dir.
func inside(command, dir string) bool {
	if strings.Contains(command, dir+"/") {
		return true
	}
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && strings.Contains(command, real+"/")
}
