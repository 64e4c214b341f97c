// Package attach connects the terminal of a login to tmux session main, or to one command. It execs that program and
// starts no other, except to compile a terminfo entry or to start the tmux server.
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

// Main execs tmux, or the command after "--". It returns only if that fails, with an exit status.
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

// setTerminal makes sure that the box knows the terminal in TERM. If necessary it compiles the entry that the host
// sent. If that fails, it sets xterm-256color and prints a note.
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
