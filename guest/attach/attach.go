// Package attach puts the terminal of a login into tmux session main, or into one command. It starts no process that it
// does not become, but where a terminal is taught or the tmux server started.
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

// entryFlag gives the terminfo source of the host's terminal, in base64.
const entryFlag = "--terminfo="

// Main becomes tmux, or the command behind "--", and does not return if that works. Otherwise it returns an exit status.
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
		fmt.Fprintln(os.Stderr, "usage: tm")
		return 2
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		shell := os.Getenv("SHELL")
		return become(shell, shell, "-l")
	}
	return mainSession.attach()
}

// setTerminal makes sure that TERM is a terminal the box knows: it compiles the entry the host sent, and where that does
// not help falls back to xterm-256color and says so.
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

// become replaces this process by a program. It returns only if that fails, with the status that shells use.
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
