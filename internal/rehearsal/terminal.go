package rehearsal

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// runOnTerminal runs a command on a new terminal, which has the size of the terminal of this process. As with ssh, the
// terminal of this process is in raw mode meanwhile, so that every key is passed on.
func runOnTerminal(home string, in *instance, command string) int {
	kind := os.Getenv("TERM")
	if kind == "" {
		kind = "dumb"
	}
	shell := login(home, in, command, kind)
	terminal, err := pty.Start(shell)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	defer terminal.Close()
	restore := func() {}
	if ours := int(os.Stdin.Fd()); term.IsTerminal(ours) {
		before, err := term.MakeRaw(ours)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 255
		}
		restore = func() { _ = term.Restore(ours, before) }
		defer restore()
		sizes, followed := make(chan os.Signal, 1), make(chan struct{})
		signal.Notify(sizes, syscall.SIGWINCH)
		_ = pty.InheritSize(os.Stdin, terminal)
		go func() {
			defer close(followed)
			for range sizes {
				_ = pty.InheritSize(os.Stdin, terminal)
			}
		}()
		defer func() { // before the terminal is closed
			signal.Stop(sizes)
			close(sizes)
			<-followed
		}()
	}
	in.whenGone(func() {
		restore()
		fmt.Fprint(os.Stderr, "Connection to 127.0.0.1 closed by remote host.\r\n")
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		os.Exit(255)
	})
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-quit
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGHUP)
	}()
	go func() { _, _ = io.Copy(terminal, os.Stdin) }()
	_, _ = io.Copy(os.Stdout, terminal) // ends with an error when no process has the terminal open any more
	_ = shell.Wait()
	if ws, ok := shell.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 255
	}
	return shell.ProcessState.ExitCode()
}
