package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/term"
)

// run serves the cache while a command runs, forwards signals to it and returns its status.
func (l *lab) run(ctx context.Context, argv []string) error {
	stop, err := l.listen(ctx)
	if err != nil {
		return err
	}
	defer stop()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = append(os.Environ(),
		"HERMES_BOX_LAB="+l.dir,
		"PATH="+l.path("lima", "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	terminal := term.IsTerminal(int(os.Stdin.Fd()))
	for {
		select {
		case s := <-signals:
			// The terminal has already sent the signal of a key to the command.
			if !terminal || s != os.Interrupt && s != syscall.SIGQUIT {
				c.Process.Signal(s)
			}
		case err := <-ended:
			return commandStatus(err)
		}
	}
}

// commandStatus returns a command's status the way a shell reports it.
func commandStatus(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return exitStatus(128 + int(w.Signal()))
	}
	return exitStatus(exit.ExitCode())
}
