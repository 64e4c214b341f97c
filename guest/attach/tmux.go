package attach

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// session is a tmux session.
type session struct {
	workspace string // the directory it starts in, a mount of the data disk
	mounts    string // the mount table
}

// mainSession is the session of every box.
var mainSession = session{workspace: "/workspace", mounts: "/proc/self/mountinfo"}

// attach execs tmux, which attaches to session main, and creates the session if there is none. Inside tmux it
// switches the client to the session.
func (s session) attach() int {
	if os.Getenv("TMUX") != "" {
		if exec.Command("tmux", "has-session", "-t", "=main").Run() != nil {
			s.start()
		}
		args := append([]string{"tmux", "switch-client", "-t", "=main", ";"}, s.bar()...)
		return become("tmux", args...)
	}
	if !serves(socket()) {
		s.start()
	}
	args := s.command()
	return become(args[0], args...)
}

// command returns the tmux command that attaches to the session, outside of tmux.
func (s session) command() []string {
	return append([]string{"tmux", "new-session", "-A", "-s", "main", "-c", s.dir(), ";"}, s.bar()...)
}

// start creates the session, and the tmux server if there is none. In a scope of the user's service manager the server
// outlives this login, whatever logind is configured to do.
func (s session) start() {
	create := []string{"tmux", "new-session", "-d", "-s", "main", "-c", s.dir()}
	scope := append([]string{"--user", "--scope", "--quiet", "--collect", "--"}, create...)
	if exec.Command("systemd-run", scope...).Run() != nil {
		_ = exec.Command(create[0], create[1:]...).Run() // another login may have created it
	}
}

// dir returns the directory in which the session starts.
func (s session) dir() string {
	if unix.Access(s.workspace, unix.W_OK) == nil {
		return s.workspace
	}
	return os.Getenv("HOME")
}

// bar returns the tmux commands that set the status bar. If the data disk is not mounted, the bar says so, because the
// files that a user writes are then on the root disk, and are lost with the root disk.
func (s session) bar() []string {
	if mounted(s.mounts, s.workspace) {
		return strings.Fields("set-option -q -u -t =main: status-style ; set-option -q -u -t =main: status-left")
	}
	return append(strings.Fields("set-option -q -t =main: status-style bg=red,fg=white ; set-option -q -t =main: status-left-length 80 ; set-option -q -t =main: status-left"),
		" the data disk is not mounted: what you write here is lost; see hermes-box doctor ")
}

// mounted reports whether something is mounted at path.
func mounted(table, path string) bool {
	data, err := os.ReadFile(table)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == path {
			return true
		}
	}
	return false
}

// socket returns the path of the socket of this user's tmux server.
func socket() string {
	dir := os.Getenv("TMUX_TMPDIR")
	if dir == "" {
		dir = "/tmp"
	}
	return filepath.Join(dir, fmt.Sprintf("tmux-%d", os.Getuid()), "default")
}

// serves reports whether a server listens on a socket.
func serves(path string) bool {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
