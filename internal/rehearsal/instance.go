package rehearsal

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// instance is one entry in the output of limactl list.
type instance struct {
	Name            string     `json:"name"`
	Hostname        string     `json:"hostname"`
	Status          string     `json:"status"`
	Dir             string     `json:"dir"`
	VMType          string     `json:"vmType"`
	Arch            string     `json:"arch"`
	CPUs            int        `json:"cpus,omitempty"`
	Memory          int64      `json:"memory,omitempty"`
	Disk            int64      `json:"disk,omitempty"`
	AdditionalDisks any        `json:"additionalDisks,omitempty"`
	SSHLocalPort    int        `json:"sshLocalPort,omitempty"`
	HostAgentPID    int        `json:"hostAgentPID,omitempty"`
	DriverPID       int        `json:"driverPID,omitempty"`
	Errors          []struct{} `json:"errors,omitempty"` // Lima prints them empty
	Config          string     `json:"config,omitempty"`

	errors   []string
	disks    []string
	format   []string // the disks that Lima formats
	forwards []rule
}

// load reads an instance as store.Inspect in Lima does. It returns an error only if lima.yaml is missing or cannot be
// read; other problems are in the field errors.
func load(home, name string) (*instance, error) {
	dir := filepath.Join(home, name)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	in := &instance{Name: name, Hostname: "lima-" + name, Dir: dir}
	data, err := os.ReadFile(filepath.Join(dir, "lima.yaml"))
	if err != nil {
		return nil, err
	}
	c, err := parse(data)
	if err != nil {
		in.fail("failed to unmarshal YAML: %v", err)
		return in, nil
	}
	in.VMType, in.Arch, in.CPUs = c.VMType, c.Arch, c.CPUs
	in.Memory, in.Disk, in.AdditionalDisks, in.Config = bytes(c.Memory), bytes(c.Disk), c.AdditionalDisks, string(data)
	for _, d := range c.AdditionalDisks {
		in.disks = append(in.disks, d.Name)
		if d.Format {
			in.format = append(in.format, d.Name)
		}
	}
	in.forwards = c.PortForwards
	if in.VMType == "" {
		in.VMType = "qemu"
	}
	if pidfile := filepath.Join(dir, "ha.pid"); has(home, PIDReused) && !exists(pidfile) {
		_ = Heal(home, PIDReused) // it happens once
		_ = os.WriteFile(pidfile, []byte(strconv.Itoa(os.Getppid())), 0o600)
	}
	in.HostAgentPID = readPID(filepath.Join(dir, "ha.pid"))
	in.DriverPID = readPID(filepath.Join(dir, in.VMType+".pid"))
	if in.HostAgentPID != 0 {
		in.SSHLocalPort = 60022
		conn, err := net.Dial("unix", filepath.Join(dir, "ha.sock"))
		if err == nil {
			conn.Close()
		}
		if err == nil && has(home, Broken) {
			err = fmt.Errorf("dial unix %s: connect: connection refused", filepath.Join(dir, "ha.sock"))
		}
		if err != nil {
			in.fail("failed to get Info from %q: %v", filepath.Join(dir, "ha.sock"), err)
			in.Status = "Broken"
			return in, nil
		}
	}
	switch {
	case in.HostAgentPID > 0 && in.DriverPID > 0:
		in.Status = "Running"
	case in.HostAgentPID == 0 && in.DriverPID == 0:
		in.Status = "Stopped"
	case in.HostAgentPID > 0:
		in.fail("host agent is running but driver is not")
		in.Status = "Broken"
	default:
		in.fail("%s driver is running but host agent is not", in.VMType)
		in.Status = "Broken"
	}
	return in, nil
}

func (in *instance) fail(format string, args ...any) {
	in.errors = append(in.errors, fmt.Sprintf(format, args...))
	in.Errors = append(in.Errors, struct{}{})
}

// readPID reads a pid file as Lima does. It removes the file of a process that is gone, and accepts any other pid,
// even that of a zombie.
func readPID(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	if err := syscall.Kill(pid, 0); err == syscall.ESRCH {
		_ = os.Remove(path)
		return 0
	}
	return pid
}

func start(home string, args []string) int {
	set, rest := flags(args, "timeout")
	if len(rest) != 1 {
		return fatal("start takes one name")
	}
	in, err := load(home, rest[0])
	if err != nil {
		return fatal("%v", err)
	}
	timeout, err := time.ParseDuration(set["timeout"])
	if err != nil {
		timeout = 10 * time.Minute
	}
	if pidfile := filepath.Join(in.Dir, "ha.pid"); exists(pidfile) {
		return fatal("instance %q seems running (hint: remove %q if the instance is not actually running)", in.Name, pidfile)
	}
	say("info", "Starting the instance %q with internal VM driver %q", in.Name, in.VMType)
	outLog, errLog := filepath.Join(in.Dir, "ha.stdout.log"), filepath.Join(in.Dir, "ha.stderr.log")
	_, _ = os.Remove(outLog), os.Remove(errLog)
	stdout, err := os.Create(outLog)
	if err != nil {
		return fatal("%v", err)
	}
	stderr, err := os.Create(errLog)
	if err != nil {
		return fatal("%v", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return fatal("%v", err)
	}
	agent := &exec.Cmd{Path: exe, Stdout: stdout, Stderr: stderr, Dir: "/",
		Args: []string{"limactl", "hostagent", "--pidfile", filepath.Join(in.Dir, "ha.pid"), "--socket", filepath.Join(in.Dir, "ha.sock"), in.Name},
		// As in Lima, the host agent runs in a new process group, but not in a new session.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	if err := agent.Start(); err != nil {
		return fatal("%v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- agent.Wait() }()
	say("info", "[hostagent] Waiting for the essential requirement 1 of 2: \"ssh\"")
	deadline := time.After(timeout)
	for {
		e := lastEvent(outLog)
		switch {
		case e.Status.Exiting:
			return fatal("exiting, status=%+v (hint: see %q)", e.Status, errLog)
		case e.Status.Degraded:
			say("warning", "DEGRADED. The VM seems running, but file sharing and port forwarding may not work. (hint: see %q)", errLog)
			return fatal("degraded, status=%+v", e.Status)
		case e.Status.Running:
			say("info", "READY. Run `limactl shell %s` to open the shell.", in.Name)
			return 0
		}
		select {
		case err := <-ended:
			if !lastEvent(outLog).Status.Exiting {
				return fatal("host agent process has exited: %v", err)
			}
		case <-deadline:
			return fatal("did not receive an event with the \"running\" status")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func stop(home string, args []string) int {
	set, rest := flags(args)
	if len(rest) != 1 {
		return fatal("stop takes one name")
	}
	in, err := load(home, rest[0])
	if err != nil {
		return fatal("%v", err)
	}
	if set["force"] != "" || set["f"] != "" {
		stopForcibly(home, in)
		return 0
	}
	if in.Status != "Running" {
		return fatal("expected status %q, got %q (maybe use `limactl stop -f`?)", "Running", in.Status)
	}
	_ = syscall.Kill(in.HostAgentPID, syscall.SIGINT)
	say("info", "Waiting for the host agent and the driver processes to shut down")
	for {
		if now, err := load(home, in.Name); err != nil || now.Status == "Stopped" {
			return 0
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// stopForcibly kills the processes that the pid files name, and unlocks every disk that the instance names, even one
// that another instance has locked.
func stopForcibly(home string, in *instance) {
	for _, pid := range []int{in.DriverPID, in.HostAgentPID} {
		if pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for _, name := range in.disks {
		if err := os.Remove(filepath.Join(diskDir(home, name), "in_use_by")); err != nil {
			say("warning", "Failed to unlock disk %q. To use, run `limactl disk unlock %s`", name, name)
		}
	}
	entries, _ := os.ReadDir(in.Dir)
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".pid", ".sock", ".tmp":
			_ = os.Remove(filepath.Join(in.Dir, e.Name()))
		}
	}
}

func remove(home string, args []string) int {
	set, names := flags(args)
	for _, name := range names {
		in, err := load(home, name)
		if err != nil {
			say("warning", "Ignoring non-existent instance `%s`", name)
			continue
		}
		if set["force"] == "" && in.Status != "Stopped" {
			return fatal("failed to delete instance `%s`: expected status %q, got %q", name, "Stopped", in.Status)
		}
		stopForcibly(home, in)
		if err := removeAll(in.Dir); err != nil {
			return fatal("failed to remove %q: %v", in.Dir, err)
		}
		say("info", "Deleted `%s` (`%s`)", name, in.Dir)
	}
	// Lima loads every instance for its networks, and fails if a directory is not an instance.
	for _, name := range instances(home) {
		if _, err := load(home, name); err != nil {
			return fatal("%v", err)
		}
	}
	return 0
}

// removeAll removes a directory, even if programs still write to it. The programs of a real guest end with its VM, but
// here they end a moment later.
func removeAll(dir string) (err error) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = os.RemoveAll(dir); !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
	return err
}

// bytes parses a size as Lima does.
func bytes(s string) int64 {
	number := strings.TrimRight(s, "KMGiB")
	n, _ := strconv.ParseInt(number, 10, 64)
	switch strings.TrimPrefix(s, number) {
	case "KiB":
		n <<= 10
	case "MiB":
		n <<= 20
	case "GiB":
		n <<= 30
	}
	return n
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
