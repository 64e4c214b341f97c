package rehearsal

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type event struct {
	Time   time.Time `json:"time"`
	Status status    `json:"status"`
}

type status struct {
	Running      bool     `json:"running,omitempty"`
	Degraded     bool     `json:"degraded,omitempty"`
	Exiting      bool     `json:"exiting,omitempty"`
	Errors       []string `json:"errors,omitempty"`
	SSHLocalPort int      `json:"sshLocalPort,omitempty"`
}

func emit(s status) {
	_ = json.NewEncoder(os.Stdout).Encode(event{Time: time.Now(), Status: s})
}

// lastEvent is the last whole event of a log.
func lastEvent(path string) event {
	data, _ := os.ReadFile(path)
	var last event
	for line := range strings.Lines(string(data)) {
		var e event
		if json.Unmarshal([]byte(line), &e) == nil {
			last = e
		}
	}
	return last
}

// sshConfig is what Lima writes for ssh -F, as far as it matters.
const sshConfig = `Host %s
  User agent
  ControlMaster auto
  ControlPath "%s"
  ControlPersist yes
  Hostname 127.0.0.1
  Port 60022
`

// hostagent stands behind one running instance.
func hostagent(home string, args []string) int {
	set, rest := flags(args, "pidfile", "socket")
	in, err := load(home, rest[0])
	if err != nil {
		return fatal("%v", err)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer func() { emit(status{Exiting: true}) }()

	if err := writePID(set["pidfile"]); err != nil {
		return fatal("%v", err)
	}
	defer os.Remove(set["pidfile"])
	wait(home, HoldAgent)
	if err := os.WriteFile(set["socket"], nil, 0o600); err != nil {
		return fatal("%v", err)
	}
	defer os.Remove(set["socket"])
	for _, name := range in.disks {
		if err := lock(home, name, in); err != nil {
			return fatal("failed to run attach disk %q: %v", name, err)
		}
		defer os.Remove(filepath.Join(diskDir(home, name), "in_use_by"))
	}
	config := fmt.Sprintf(sshConfig, in.Hostname, filepath.Join(in.Dir, "ssh.sock"))
	if err := os.WriteFile(filepath.Join(in.Dir, "ssh.config"), []byte(config), 0o600); err != nil {
		return fatal("%v", err)
	}

	exe, err := os.Executable()
	if err != nil {
		return fatal("%v", err)
	}
	pidfile := filepath.Join(in.Dir, in.VMType+".pid")
	vm := &exec.Cmd{Path: exe, Args: []string{"limactl", "driver", "-pidfile", pidfile}, Dir: "/",
		Env: os.Environ(), SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	if has(home, StartFails) {
		vm.Args = []string{"limactl", "--version"}
	}
	if err := vm.Start(); err != nil {
		return fatal("%v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- vm.Wait() }()
	defer os.Remove(pidfile)

	serial := filepath.Join(in.Dir, "serial.log")
	_ = os.WriteFile(serial, []byte("[    0.000000] Linux version 6.12 (rehearsal)\r\n"), 0o600)
	if has(home, StartFails) {
		emit(status{SSHLocalPort: 60022})
		err := <-ended
		fmt.Fprintf(os.Stderr, `{"level":"debug","msg":"qemu[stderr]: qemu-system-x86_64: failed to initialize kvm: Permission denied","time":"2026-01-01T00:00:00Z"}`+"\n")
		fmt.Fprintf(os.Stderr, `{"level":"info","msg":"Driver stopped due to error: %v","time":"2026-01-01T00:00:00Z"}`+"\n", err)
		return 0
	}
	for !exists(pidfile) {
		time.Sleep(time.Millisecond)
	}
	emit(status{SSHLocalPort: 60022})
	booted := make(chan struct{})
	go func() {
		wait(home, HoldBoot)
		s := status{Running: true, SSHLocalPort: 60022}
		if has(home, Degraded) {
			s.Degraded, s.Errors = true, []string{"boot scripts must have finished"}
		}
		emit(s)
		_ = os.WriteFile(filepath.Join(in.Dir, "ssh.sock"), nil, 0o600)
		close(booted)
	}()
	defer os.Remove(filepath.Join(in.Dir, "ssh.sock"))
	for {
		select {
		case <-ended:
			return 0
		case <-signals:
			if has(home, HoldStop) {
				continue
			}
			emit(status{Exiting: true})
			_ = vm.Process.Kill()
			<-ended
			return 0
		}
	}
}

// driver stands for the machine: it is there until it is killed, or its directory is gone.
func driver(args []string) int {
	if err := writePID(args[1]); err != nil {
		return 1
	}
	for exists(filepath.Dir(args[1])) {
		time.Sleep(100 * time.Millisecond)
	}
	return 0
}

// lock takes a disk for an instance; one that it holds already, from before a crash, it takes again.
func lock(home, name string, in *instance) error {
	link := filepath.Join(diskDir(home, name), "in_use_by")
	if owner, err := os.Readlink(link); err == nil {
		if owner != in.Dir {
			return fmt.Errorf("in use by instance %q", filepath.Base(owner))
		}
		if err := os.Remove(link); err != nil {
			return err
		}
	}
	return os.Symlink(in.Dir, link)
}

// writePID writes our pid; a reader never sees half of it.
func writePID(path string) error {
	if err := os.WriteFile(path+".tmp", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func wait(home string, f Fault) {
	for has(home, f) {
		time.Sleep(5 * time.Millisecond)
	}
}
