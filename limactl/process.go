package limactl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"al.essio.dev/pkg/shellescape"
)

// process is the process that a pid file names.
type process struct {
	pid     int // 0: there is no file, or no pid in it
	alive   bool
	ours    bool   // its command line names this instance's directory; if alive and not ours, the pid was reused
	hidden  bool   // this user cannot see whether it is alive, or whether it is ours
	command string // command line, for messages
}

// facts is the content of an instance's files, read without limactl.
type facts struct {
	agent  process
	driver process
	last   *BootEvent // the last event of the host agent in this run; nil if there is none
}

// runs reports whether a process of the instance is known to run.
func (f facts) runs() bool { return f.agent.ours || f.driver.ours }

// hidden reports whether this user cannot see if a process of the instance runs.
func (f facts) hidden() bool { return f.agent.hidden || f.driver.hidden }

// off reports whether no process of the instance runs. It returns an error if this user cannot see that.
func (f facts) off(in Instance) (bool, error) {
	if f.runs() || !f.hidden() {
		return !f.runs(), nil
	}
	return false, &Error{Message: fmt.Sprintf("this user cannot see whether instance %s runs: its processes are hidden or belong to another user", in.Name),
		Do: "to see which user started it: ls -l " + shellescape.Quote(in.Dir)}
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
	err = syscall.Kill(pid, 0)
	if err != nil && !errors.Is(err, syscall.EPERM) {
		return process{pid: pid}
	}
	command, unseen := commandLine(pid)
	return seen(process{pid: pid, command: command}, err, unseen, ownFile(filepath.Join(dir, file)), dir)
}

// seen completes a process that exists. signal is the error of a signal to it, unseen that of reading its command line.
// wrote says that this user wrote the pid file, and so that a process of another user was not meant by it.
func seen(p process, signal, unseen error, wrote bool, dir string) process {
	switch {
	case p.command != "":
		p.alive, p.ours = true, inside(p.command, dir)
	case signal != nil && wrote:
		p.alive, p.command = true, "a process of another user"
	default:
		p.hidden = signal != nil || unseen != nil // if it can be seen, it is exiting or a zombie
	}
	return p
}

// ownFile reports whether a file belongs to this user.
func ownFile(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// inside reports whether a command line has a path in dir.
func inside(command, dir string) bool {
	if strings.Contains(command, dir+"/") {
		return true
	}
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && strings.Contains(command, real+"/")
}
