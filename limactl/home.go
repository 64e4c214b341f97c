package limactl

import (
	"fmt"
	"path/filepath"
	"runtime"
)

// longestSocket is a name with the length of the longest socket name in an instance's directory: ssh adds a dot and 16
// characters to the name while it creates the socket.
const longestSocket = "ssh.sock.1234567890123456"

// CheckHome returns an error if the paths of an instance's sockets, with the links in limaHome resolved, are too long
// for the system, which allows 103 bytes on macOS and 107 on Linux. limaHome need not exist.
func CheckHome(limaHome, name string) error {
	return checkHome(runtime.GOOS, limaHome, name)
}

func checkHome(goos, limaHome, name string) error {
	limit := 108 // with the NUL at the end
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

// resolve returns path with the links in its existing part resolved.
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
