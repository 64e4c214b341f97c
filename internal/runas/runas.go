// Package runas makes this program run as the ordinary user who owns a directory, because limactl refuses to run as
// root.
package runas

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// ServiceUser is the ordinary user that runs limactl on behalf of root.
const ServiceUser = "hermes-box"

// Error is the error for a user that this program cannot run as, with a hint.
type Error struct {
	message string
	hint    string
	err     error
}

func (e *Error) Error() string { return e.message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Recovery returns the hint.
func (e *Error) Recovery() string { return e.hint }

// Code returns the product's error code.
func (e *Error) Code() string { return "preflight_failed" }

// ErrRoot means that there is no other user than root to run as. What needs no limactl works even so.
var ErrRoot = errors.New("root owns the home")

// identity is a user to run as.
type identity struct {
	uid, gid int
	name     string
	home     string
	groups   []int
}

// mustChange reports whether a program that runs as euid must become the owner of home. On Linux, root must; if the
// owner is root too, mustChange returns an error with a hint. Other users need no change.
func mustChange(goos string, euid, owner int, home string) (change bool, err error) {
	if goos != "linux" || euid != 0 {
		return false, nil
	}
	if owner != 0 {
		return true, nil
	}
	return false, &Error{
		err:     ErrRoot,
		message: fmt.Sprintf("limactl refuses to run as root, and %s belongs to root", home),
		hint:    rootHint(isUser(ServiceUser)),
	}
}

// rootHint returns the commands with which root makes the service user run limactl; exists says whether there is such
// a user.
func rootHint(exists bool) string {
	hint := "unset HERMES_BOX_HOME (hermes-box then works as the user " + ServiceUser + ")"
	if exists {
		return hint
	}
	return "useradd --create-home " + ServiceUser + "; " + hint
}

func isUser(name string) bool {
	_, err := user.Lookup(name)
	return err == nil
}

// Owner makes sure that this program does not run as root on Linux, because limactl refuses to. As root it replaces
// this process with the same program run by the user who owns home, or the nearest existing directory above it, and
// does not return. If that owner is root, it returns an error with a hint. Otherwise it returns nil.
func Owner(home string) error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return nil
	}
	dir, owner, err := ownerOf(home)
	if err != nil {
		return err
	}
	if change, err := mustChange(runtime.GOOS, os.Geteuid(), owner, dir); err != nil || !change {
		return err
	}
	who, err := lookup(owner)
	if err != nil {
		return err
	}
	return become(who)
}

// ownerOf returns path, or the nearest existing directory above it, and the uid of its owner.
func ownerOf(path string) (dir string, uid int, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return "", 0, err
	}
	for {
		st, err := os.Stat(path)
		if err == nil {
			return path, ownerUID(st), nil
		}
		if !os.IsNotExist(err) || path == "/" {
			return "", 0, err
		}
		path = filepath.Dir(path)
	}
}

// lookup returns a user and all its groups.
func lookup(uid int) (identity, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return identity{}, &Error{
			message: fmt.Sprintf("uid %d, the owner of the home, is not a user of this machine", uid),
			hint:    "useradd --create-home --uid " + strconv.Itoa(uid) + " " + ServiceUser,
			err:     err,
		}
	}
	who := identity{uid: uid, name: u.Username, home: u.HomeDir}
	if who.gid, err = strconv.Atoi(u.Gid); err != nil {
		return identity{}, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return identity{}, fmt.Errorf("groups of user %s: %w", u.Username, err)
	}
	for _, id := range ids {
		n, err := strconv.Atoi(id)
		if err != nil {
			return identity{}, err
		}
		who.groups = append(who.groups, n)
	}
	return who, nil
}

// environment returns env with the HOME and names of the user, and without the sockets and directories of root's
// session.
func (who identity) environment(env []string) []string {
	own := map[string]string{"HOME": who.home, "USER": who.name, "LOGNAME": who.name}
	drop := map[string]bool{"XDG_RUNTIME_DIR": true, "SSH_AUTH_SOCK": true, "DBUS_SESSION_BUS_ADDRESS": true, "MAIL": true,
		"XDG_CONFIG_HOME": true, "XDG_CACHE_HOME": true, "XDG_DATA_HOME": true, "XDG_STATE_HOME": true}
	out := make([]string, 0, len(env)+3)
	for _, kv := range env {
		key, _, _ := strings.Cut(kv, "=")
		if _, ok := own[key]; !ok && !drop[key] {
			out = append(out, kv)
		}
	}
	for _, key := range []string{"HOME", "USER", "LOGNAME"} {
		out = append(out, key+"="+own[key])
	}
	return out
}
