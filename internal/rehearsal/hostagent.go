package rehearsal

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
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
	CloudInit    *line    `json:"cloudInitProgress,omitempty"`
	PortForward  *forward `json:"portForward,omitempty"`
}

type line struct {
	LogLine string `json:"logLine"`
}

// reported is the state in the host agent's events. Each event has the complete state and the latest change.
var reported struct {
	sync.Mutex
	status
}

func emit(change func(*status)) {
	reported.Lock()
	defer reported.Unlock()
	reported.CloudInit, reported.PortForward = nil, nil
	change(&reported.status)
	_ = json.NewEncoder(os.Stdout).Encode(event{Time: time.Now(), Status: reported.status})
}

func exiting(s *status) { s.Running, s.Exiting = false, true }

// lastEvent returns the last complete event of a log.
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

// sshConfig is the part of Lima's ssh.config that hermes-box and its tests need.
const sshConfig = `Host %s
  User agent
  ControlMaster auto
  ControlPath "%s"
  ControlPersist yes
  Hostname 127.0.0.1
  Port 60022
`

// hostagent runs as the host agent of one running instance.
func hostagent(home string, args []string) int {
	asJSON = true
	set, rest := flags(args, "pidfile", "socket")
	in, err := load(home, rest[0])
	if err != nil {
		return fatal("%v", err)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer emit(exiting)

	if has(home, AgentSlow) {
		time.Sleep(500 * time.Millisecond)
	}
	if err := writePID(set["pidfile"]); err != nil {
		return fatal("%v", err)
	}
	defer os.Remove(set["pidfile"])
	wait(home, HoldAgent)
	_ = os.Remove(set["socket"]) // a killed host agent leaves it
	listener, err := net.Listen("unix", set["socket"])
	if err != nil {
		return fatal("%v", err)
	}
	defer listener.Close()
	go greet(home, listener)
	for _, name := range in.disks {
		if err := lock(home, name, in); err != nil {
			say("error", "could not attach disk `%s`: %v", name, err)
			return fatal("%v", err)
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
	console, err := vm.StdoutPipe()
	if err != nil {
		return fatal("%v", err)
	}
	if err := vm.Start(); err != nil {
		return fatal("%v", err)
	}
	up := make(chan struct{})
	go watch(console, up)
	ended := make(chan error, 1)
	go func() { ended <- vm.Wait() }()
	defer os.Remove(pidfile)

	if has(home, StartFails) {
		_ = os.WriteFile(filepath.Join(in.Dir, "serial.log"), []byte("[    0.000000] Linux version 6.12 (rehearsal)\r\n"), 0o600)
		emit(func(s *status) { s.SSHLocalPort = 60022 })
		err := <-ended
		say("debug", "qemu[stderr]: qemu-system-x86_64: failed to initialize kvm: Permission denied")
		say("info", "Driver stopped due to error: %v", err)
		return 0
	}
	for !exists(pidfile) {
		select {
		case err := <-ended:
			return fatal("Driver stopped due to error: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	emit(func(s *status) { s.SSHLocalPort = 60022 })
	forwards, stopForwards := context.WithCancel(context.Background())
	defer stopForwards()
	go func() {
		<-up
		wait(home, HoldBoot)
		go forwardPorts(forwards, home, in)
		go forwardService(home, in)
		_ = os.WriteFile(filepath.Join(in.Dir, "ssh.sock"), nil, 0o600)
		emit(func(s *status) {
			s.Running = true
			if has(home, Degraded) {
				s.Degraded, s.Errors = true, []string{"boot scripts must have finished"}
			}
		})
	}()
	defer os.Remove(filepath.Join(in.Dir, "ssh.sock"))
	defer os.Remove(filepath.Join(in.Dir, masterSocket))
	for {
		select {
		case <-ended:
			if !has(home, AgentStays) {
				stopForwards()
				time.Sleep(closing)
				return 0
			}
			ended = nil
			_ = os.Remove(pidfile)
		case <-signals:
			if has(home, HoldStop) {
				continue
			}
			emit(exiting)
			if ended == nil {
				return 0
			}
			_ = vm.Process.Signal(syscall.SIGTERM)
			select {
			case <-ended:
			case <-time.After(shutdownLimit):
				_ = vm.Process.Kill()
				<-ended
			}
			return 0
		}
	}
}

// greet answers requests on the host agent's socket, unless the fault Broken is switched on.
func greet(home string, l net.Listener) {
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if has(home, Broken) {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintln(w, `{"sshLocalPort":60022}`)
	}))
}

// closing is the time that a host agent takes to exit after its VM has ended without a request to stop. It is long
// enough for a test to kill the VM and then the host agent.
const closing = 300 * time.Millisecond

// shutdownLimit is how long a guest may take to shut down. It is Lima's limit for QEMU.
const shutdownLimit = 3 * time.Minute

// watch reports the lines of the console as events until the guest ends.
func watch(console io.Reader, up chan<- struct{}) {
	for lines := bufio.NewScanner(console); lines.Scan(); {
		if lines.Text() == upMark {
			close(up)
			continue
		}
		if text := strings.TrimSpace(lines.Text()); text != "" {
			emit(func(s *status) { s.CloudInit = &line{text} })
		}
	}
}

// lock locks a disk for an instance. It replaces a lock that the instance itself left in a crash.
func lock(home, name string, in *instance) error {
	link := filepath.Join(diskDir(home, name), "in_use_by")
	if has(home, StaleLock) {
		_ = os.Symlink(filepath.Join(home, "gone"), link)
	}
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
