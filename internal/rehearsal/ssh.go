package rehearsal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ssh runs a command "inside": in the instance's guest directory, in a new session, on pipes or a new terminal, as sshd
// does. It returns the command's status, or 255 if it cannot connect. With -O it does what the master would do.
func ssh(home string, args []string) int {
	var config, control, forward, host, local string
	tty := false
	options := map[string]string{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		if !strings.HasPrefix(arg, "-") {
			host = arg
			break
		}
		value := func() string {
			v := args[0]
			args = args[1:]
			return v
		}
		switch arg {
		case "-F":
			config = value()
		case "-o":
			key, v, _ := strings.Cut(value(), "=")
			options[key] = v
		case "-O":
			control = value()
		case "-W":
			forward = value()
		case "-L":
			local, _, _ = strings.Cut(value(), ":")
		case "-e":
			value()
		case "-t", "-tt":
			tty = true
		}
	}
	if host == "" {
		host, args = args[0], args[1:]
	}
	name := filepath.Base(filepath.Dir(config))
	if control == "forward" || control == "cancel" {
		return forwardSocket(filepath.Dir(config), control, local)
	}
	if control == "stop" {
		if !has(home, StaleMaster) {
			fmt.Fprintln(os.Stderr, "Control socket connect: No such file or directory")
			return 255
		}
		_ = Heal(home, StaleMaster)
		_ = os.Remove(filepath.Join(filepath.Dir(config), "forwarded"))
		fmt.Fprintln(os.Stderr, "Stop listening request sent.")
		return 0
	}
	in, err := load(home, name)
	up := err == nil && exists(filepath.Join(in.Dir, "ssh.sock")) && in.currentBoot() != ""
	running := in.Status == "Running" || in.Status == "Broken" && has(home, Broken) // the guest does not need the host agent
	if !up || !running || host != in.Hostname || has(home, SSHRefused) {
		fmt.Fprintln(os.Stderr, "ssh: connect to host 127.0.0.1 port 60022: Connection refused")
		return 255
	}
	if has(home, StaleMaster) && options["ControlPath"] != "none" {
		for { // the master runs, but its connection is dead
			time.Sleep(time.Hour)
		}
	}
	if forward != "" { // nothing listens on the port
		fmt.Fprintln(os.Stderr, "Stdio forwarding request failed: Session open refused by peer")
		return 255
	}
	command := strings.Join(args, " ")
	if has(home, LoginNoise) && command != "" {
		command = "echo welcome; echo 'motd of the day' >&2; " + command
	}
	if tty {
		return runOnTerminal(home, in, command)
	}
	return runInside(home, in, command)
}

// forwardSocket does what the ssh master does for "ssh -O forward" and "ssh -O cancel". It makes a symlink to
// masterSocket in place of a socket. Like a real master, it does not make the socket again while the forward is in
// force, even if somebody has removed the socket.
func forwardSocket(dir, request, local string) int {
	record := filepath.Join(dir, "forwarded")
	if request == "cancel" {
		_ = os.Remove(record)
		return 0
	}
	if exists(record) {
		return 0
	}
	if err := errors.Join(os.Symlink(filepath.Join(dir, masterSocket), local), os.WriteFile(record, nil, 0o600)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	return 0
}

// whenGone calls do when the VM of the connection is gone, or reboots.
func (in *instance) whenGone(do func()) {
	boot := in.currentBoot()
	go func() {
		for in.currentBoot() == boot && syscall.Kill(in.DriverPID, 0) == nil {
			time.Sleep(100 * time.Millisecond)
		}
		do()
	}()
}

// login returns a command that runs inside, or a shell if the command is empty.
func login(home string, in *instance, command, term string) *exec.Cmd {
	if inside != nil {
		return inside.Login(in.machine(home), command, term)
	}
	shell := "/bin/bash" // the shell of a guest's user
	if !exists(shell) {
		shell = "/bin/sh"
	}
	cmd := exec.Command(shell, "-c", command)
	if command == "" {
		cmd = exec.Command(shell, "-i")
	}
	cmd.Dir = GuestDir(home, in.Name)
	return cmd
}

func runInside(home string, in *instance, command string) int {
	shell := login(home, in, command, "")
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err1 := shell.StdinPipe()
	stdout, err2 := shell.StdoutPipe()
	stderr, err3 := shell.StderrPipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	if err := shell.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	in.whenGone(func() {
		fmt.Fprint(os.Stderr, "Connection to 127.0.0.1 closed by remote host.\r\n")
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		os.Exit(255)
	})
	// As in sshd, the shell is reaped at once, although its children may keep its streams open.
	ended := make(chan *os.ProcessState, 1)
	go func() {
		state, _ := shell.Process.Wait()
		ended <- state
	}()
	if has(home, ConnectLost) {
		time.AfterFunc(500*time.Millisecond, func() {
			fmt.Fprintln(os.Stderr, "client_loop: send disconnect: Broken pipe")
			os.Exit(255)
		})
	}
	go func() {
		_, _ = io.Copy(stdin, wire{os.Stdin})
		_ = stdin.Close()
	}()
	streams := make(chan error, 2)
	relay := func(w io.Writer, r io.Reader) {
		_, err := io.Copy(w, r)
		if err != nil {
			os.Exit(255) // the reader has gone: the connection ends
		}
		streams <- err
	}
	go relay(os.Stdout, stdout)
	go relay(os.Stderr, stderr)
	<-streams
	<-streams
	state := <-ended
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 255
	}
	return state.ExitCode()
}
