package userland

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol"
	"hermes-box/internal/rehearsal/simulate"
)

// agentHome is the working directory of a login.
const agentHome = "/home/agent"

// Login returns a shell that runs command, or tm if command is empty, with the environment of a login, as sshd does.
// Paths of the machine in command are replaced with real ones. The caller sets the streams.
func (m Machine) Login(command, term string) *exec.Cmd {
	if command == "" {
		command = "tm" // as a login shell of a box does
	}
	shell := loginShell()
	cmd := exec.Command(shell, "-c", m.real(command))
	cmd.Dir = m.path(agentHome)
	cmd.Env = append(simulate.Open(m.Root).LoginEnvironment(agentHome), "USER=agent", "LOGNAME=agent", "SHELL="+shell, "SSH_CONNECTION=127.0.0.1 60022 127.0.0.1 22",
		"TMUX_TMPDIR="+m.path("tmp")) // not the tmux server of this host
	if term != "" {
		cmd.Env = append(cmd.Env, "TERM="+term)
	}
	return cmd
}

// loginShell returns the shell of a login.
func loginShell() string {
	const shell = "/bin/bash"
	if _, err := os.Stat(shell); err != nil {
		return "/bin/sh"
	}
	return shell
}

// session replaces this process with an interactive shell, which first prints that this is a demo.
func (m Machine) session() int {
	shell := loginShell()
	script := `printf '\033[32mdemo\033[0m: no VM is here. This shell runs on your own machine, in\n  %s\nLeave it with exit.\n' "$1"` +
		`; PS1='agent@demo:\W$ ' HISTFILE= exec ` + shell + ` --norc --noprofile -i`
	if err := os.Chdir(m.path("workspace")); err != nil {
		fmt.Fprintln(os.Stderr, "tm:", err)
		return 1
	}
	err := syscall.Exec(shell, []string{shell, "-c", script, shell, m.path("workspace")}, os.Environ())
	fmt.Fprintln(os.Stderr, "tm:", err)
	return 1
}

// tm runs the guest's command tm. In the simulation a shell takes the place of tmux.
func (m Machine) tm(args []string) int { return m.helper(append([]string{protocol.Attach}, args...)) }

// terminal returns the arguments of a helper unchanged, or nil if they ask for an attach to tmux.
func (m Machine) terminal(args []string) []string {
	if len(args) > 0 && args[0] == protocol.Attach && !slices.Contains(args, "--") {
		return nil
	}
	return args
}

// command replaces the paths of the machine in a command with real ones.
func (m Machine) command(c *protocol.Command) {
	for i := range c.Args {
		c.Args[i] = m.realBytes(c.Args[i])
	}
	for i := range c.Env {
		c.Env[i] = m.realBytes(c.Env[i])
	}
	c.Dir = m.realBytes(c.Dir)
}

// realBytes does the same as real, for a text that is not quoted for a shell.
func (m Machine) realBytes(text []byte) []byte {
	var out []byte
	begins := true
	for i := 0; i < len(text); i++ {
		if begins && text[i] == '/' {
			if name := word.Find(text[i:]); m.names(string(name)) {
				out = append(append(out, m.Root...), name...)
				i += len(name) - 1
				begins = false
				continue
			}
		}
		begins = bytes.IndexByte([]byte(" \t\n=:;|&()<>'\""), text[i]) >= 0
		out = append(out, text[i])
	}
	return out
}

// tops lists the directories of the machine whose paths are replaced in a command.
var tops = []string{"/workspace", "/data", "/home/agent", "/opt/hermes-box", protocol.StateDir, "/usr/local/libexec", "/usr/local/bin", "/etc/hermes-box"}

var word = regexp.MustCompile(`^[A-Za-z0-9._/@%+,-]*`)

// real replaces the paths of the machine in a command with real ones, quoted as their place in the command requires.
// A path begins at the start of a word, or after a = or a : as in assignments and lists.
func (m Machine) real(command string) string {
	var out strings.Builder
	var quote byte
	begins := true
	for i := 0; i < len(command); i++ {
		c := command[i]
		if c == '/' && begins {
			name := word.FindString(command[i:])
			if m.names(name) {
				out.WriteString(quoted(m.Root+name, quote))
				i += len(name) - 1
				begins = false
				continue
			}
		}
		switch {
		case quote == 0 && c == '\\' && i+1 < len(command):
			out.WriteByte(c)
			i++
			c = command[i]
			begins = false
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
			begins = true
		case quote != 0 && c == quote:
			quote = 0
		default:
			begins = strings.IndexByte(" \t\n=:;|&()<>'\"", c) >= 0
		}
		out.WriteByte(c)
	}
	return out.String()
}

func (m Machine) names(name string) bool {
	clean := path.Clean(name)
	for _, top := range tops {
		if clean == top || strings.HasPrefix(clean, top+"/") {
			return true
		}
	}
	return false
}

// quoted quotes a path for a place in a shell word: within quotes of this kind, or outside of quotes if quote is 0.
func quoted(path string, quote byte) string {
	switch quote {
	case '\'':
		return strings.ReplaceAll(path, "'", `'\''`)
	case '"':
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(path)
	}
	return shellescape.Quote(path)
}
