package limactl

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is what a pid file leads to.
type process struct {
	pid     int // 0: the file is not there, or holds no pid
	alive   bool
	ours    bool   // its command line names this instance's directory; else the pid was reused
	hidden  bool   // whether it is alive cannot be seen: it, or its pid file, is another user's
	command string // for people
}

// facts are what the files of an instance tell, without asking Lima.
type facts struct {
	agent  process
	driver process
	last   *BootEvent // the last thing the host agent reported of itself in this run; nil if nothing yet
}

// look reads an instance's pid files and its host agent's event log.
func look(dir, vmType string) facts {
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

// readPID follows a pid file. A process is ours if its command line holds a path inside the instance's directory:
// that is so for Lima's host agent (--pidfile) and for qemu (-pidfile, sockets); vz runs inside the host agent.
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
		p.hidden = err != nil || unseen != nil // otherwise it is dying, or a zombie that nobody has reaped
		return p
	}
	p.command = command
	p.alive = true
	p.ours = inside(p.command, dir)
	return p
}

// inside tells whether a command line names something in dir.
func inside(command, dir string) bool {
	if strings.Contains(command, dir+"/") {
		return true
	}
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && strings.Contains(command, real+"/")
}
