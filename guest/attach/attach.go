// Package attach attaches the terminal of a login to tmux session main, or runs one command on the terminal. tmux or
// the command replaces the process that calls Main.
package attach

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// entryFlag is the flag with the terminfo source of the host's terminal, in base64.
const entryFlag = "--terminfo="

// Main execs the command after "--" or, without one, tmux. If tmux is not installed, it execs a login shell. It
// returns, with an exit status, only if the arguments are wrong or the exec fails.
func Main(args []string) int {
	entry := ""
	if len(args) > 0 && strings.HasPrefix(args[0], entryFlag) {
		entry, args = strings.TrimPrefix(args[0], entryFlag), args[1:]
	}
	setTerminal(entry)
	if len(args) > 1 && args[0] == "--" {
		return become(args[1], args[1:]...)
	}
	if len(args) > 0 {
		fmt.Fprintln(os.Stderr, "usage: tm [-- COMMAND [ARG...]]")
		return 2
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		shell := os.Getenv("SHELL")
		return become(shell, shell, "-l")
	}
	return mainSession.attach()
}

// Command returns the command that attaches a terminal of type term to tmux session main. It returns nil if Main has to
// do it, because there is no tmux server or the box has no terminfo entry for the terminal.
func Command(term string) []string {
	if !known(term) || !serves(socket()) {
		return nil
	}
	return mainSession.command()
}

// setTerminal makes sure that the box has a terminfo entry for TERM, unless TERM is empty. If the box has none,
// setTerminal compiles the entry that the host sent. If the host sent none, or the entry does not compile, setTerminal
// sets TERM to xterm-256color and prints a note.
func setTerminal(entry string) {
	name := os.Getenv("TERM")
	if name == "" || known(name) {
		return
	}
	if source, err := base64.StdEncoding.DecodeString(entry); err == nil && len(source) > 0 {
		tic := exec.Command("tic", "-x", "-o", filepath.Join(os.Getenv("HOME"), ".terminfo"), "-")
		tic.Stdin = strings.NewReader(string(source))
		if tic.Run() == nil && known(name) {
			return
		}
	}
	fmt.Fprintf(os.Stderr, "tm: this box does not know the terminal %q; using xterm-256color\n", name)
	os.Setenv("TERM", "xterm-256color")
}

// become execs a program. It returns only if that fails, with the status that shells use.
func become(name string, args ...string) int {
	path, err := exec.LookPath(name)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: command not found\n", name)
		return 127
	}
	err = syscall.Exec(path, args, os.Environ())
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	return 126
}
