package rehearsal

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"hermes-box/guest/protocol"
)

// forward is a port forward in Lima's events.
type forward struct {
	Type     string `json:"type"` // forwarding, stopping
	Protocol string `json:"protocol"`
	Guest    string `json:"guestAddr"`
	Host     string `json:"hostAddr"`
}

// rule is an entry of portForwards in lima.yaml.
type rule struct {
	GuestPort int    `yaml:"guestPort"`
	HostIP    string `yaml:"hostIP"`
	HostPort  int    `yaml:"hostPort"`
	Ignore    bool   `yaml:"ignore"`
}

// forwardPorts opens a port of the host while the guest listens on the matching one, until ctx ends. As in Lima, if the
// port of the host is in use, a warning is logged, and the port is still reported as forwarded.
func forwardPorts(ctx context.Context, home string, in *instance) {
	guest := in.machine(home)
	open := map[int]net.Listener{}
	defer func() {
		for _, l := range open {
			l.Close()
		}
	}()
	seen := map[int]time.Time{} // by port of the guest: madeAt of the socket in the last round
	moved := time.Now()
	for {
		for _, r := range in.forwards {
			if r.Ignore || r.GuestPort == 0 {
				continue
			}
			socket := guest.Socket(r.GuestPort)
			made := madeAt(socket)
			if has(home, ForwardDead) {
				made = time.Time{}
			}
			report := forward{"forwarding", "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.GuestPort)), net.JoinHostPort(r.HostIP, strconv.Itoa(r.HostPort))}
			if !made.Equal(seen[r.GuestPort]) && !seen[r.GuestPort].IsZero() { // closed, perhaps only for a moment
				if l := open[r.GuestPort]; l != nil {
					l.Close()
					delete(open, r.GuestPort)
				}
				stopped := report
				stopped.Type = "stopping"
				emit(func(s *status) { s.PortForward = &stopped })
			}
			if !made.Equal(seen[r.GuestPort]) && !made.IsZero() {
				l, err := net.Listen("tcp", report.Host)
				if err == nil && has(home, PortConflict) {
					err = errors.Join(syscall.EADDRINUSE, l.Close())
				}
				if err != nil {
					say("warning", "failed to set up forwarding tcp port %d (negligible if already forwarded): %v", r.GuestPort, err)
				} else {
					open[r.GuestPort] = l
					go serve(l, socket)
				}
				emit(func(s *status) { s.PortForward = &report })
			}
			if !made.Equal(seen[r.GuestPort]) {
				seen[r.GuestPort], moved = made, time.Now()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(often(moved)):
		}
	}
}

// madeAt returns the time at which a guest began to listen on a socket; zero if it is not listening.
func madeAt(socket string) time.Time {
	info, err := os.Lstat(socket)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func serve(l net.Listener, socket string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go connect(conn, socket)
	}
}

// connect connects conn with a socket.
func connect(conn net.Conn, socket string) {
	defer conn.Close()
	in, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer in.Close()
	go func() {
		_, _ = io.Copy(in, conn)
		_ = in.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(conn, in)
}

// masterSocket is the name of the socket in an instance's directory that connects to the service of the guest. The socket
// that "ssh -O forward" makes is a link to it.
const masterSocket = "master.sock"

// forwardService connects masterSocket with the service of the guest, with the faults of an ssh master.
func forwardService(home string, in *instance) {
	path := filepath.Join(in.Dir, masterSocket)
	for _, old := range []string{masterSocket, "forwarded", "helper.sock"} { // of a killed host agent
		_ = os.Remove(filepath.Join(in.Dir, old))
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		switch {
		case has(home, SSHRefused):
			conn.Close()
		case has(home, StaleMaster): // it never answers
		case has(home, ConnectLost):
			time.AfterFunc(500*time.Millisecond, func() { conn.Close() })
			go connect(conn, ServiceSocket(home, in.Name))
		default:
			go connect(conn, ServiceSocket(home, in.Name))
		}
	}
}

// ServiceSocket returns the path of the socket on which the service of an instance's guest listens.
func ServiceSocket(home, instance string) string {
	return filepath.Join(GuestDir(home, instance), protocol.SocketPath)
}
