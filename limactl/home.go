package limactl

import (
	"fmt"
	"path/filepath"
	"runtime"
)

// longestSocket is as long as the longest name of a socket in an instance's directory: ssh adds 16 characters to the
// name while it creates the socket.
const longestSocket = "ssh.sock.1234567890123456"

// CheckHome returns an error if the paths of an instance's sockets are too long for the system: 104 bytes on macOS,
// 108 on Linux, with links in LIMA_HOME resolved. LIMA_HOME need not exist.
func CheckHome(limaHome, name string) error {
	return checkHome(runtime.GOOS, limaHome, name)
}

func checkHome(goos, limaHome, name string) error {
	limit := 108
	if goos == "darwin" {
		limit = 104
	}
	path := filepath.Join(resolve(limaHome), name, longestSocket)
	if len(path) < limit {
		return nil
	}
	return &Error{
		Message: fmt.Sprintf("path of the box's sockets is too long: %s has %d bytes, the system allows %d", path, len(path), limit-1),
		Do:      fmt.Sprintf("choose a home that is %d bytes shorter: export HERMES_BOX_HOME=/some/short/path", len(path)-limit+1),
		Kind:    "preflight_failed",
	}
}

// resolve resolves the links in the part of path that exists.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}
