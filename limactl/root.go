package limactl

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// ServiceUser is the ordinary user that runs limactl on a machine where everyone is root.
const ServiceUser = "hermes-box"

// identity is whom a program should run as.
type identity struct {
	uid, gid int
	name     string
	home     string
	groups   []int
}

// whoAmI decides whom to run as. It does not act.
//
//	not root, or not Linux:      nobody else
//	the owner is not root:       the owner
//	the owner is root:           an error that says what to do
func whoAmI(goos string, euid, owner int, home string) (change bool, err error) {
	if goos != "linux" || euid != 0 {
		return false, nil
	}
	if owner != 0 {
		return true, nil
	}
	return false, &Error{
		Message: fmt.Sprintf("limactl refuses to run as root, and %s belongs to root", home),
		Do:      rootHint(isUser(ServiceUser)),
		Kind:    "preflight_failed",
		Err:     ErrRoot,
	}
}

// rootHint is what root types to have an ordinary user run limactl.
func rootHint(there bool) string {
	hint := "unset HERMES_BOX_HOME (hermes-box then works as the user " + ServiceUser + ")"
	if there {
		return hint
	}
	return "useradd --create-home " + ServiceUser + "; " + hint
}

func isUser(name string) bool {
	_, err := user.Lookup(name)
	return err == nil
}

// Demote makes sure that we do not run as root on Linux, where limactl refuses to: it replaces this process by the
// same program as the ordinary user who owns home, or the nearest directory above it that exists, and then does not
// return. It returns nil where there is nothing to do, and an error with what to type if that owner is root.
func Demote(home string) error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return nil
	}
	dir, owner, err := ownerOf(home)
	if err != nil {
		return err
	}
	if change, err := whoAmI(runtime.GOOS, os.Geteuid(), owner, dir); err != nil || !change {
		return err
	}
	who, err := lookup(owner)
	if err != nil {
		return err
	}
	return become(who)
}

// ownerOf tells who owns path or the nearest directory above it that exists.
func ownerOf(path string) (dir string, uid int, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return "", 0, err
	}
	for {
		st, err := os.Stat(path)
		if err == nil {
			return path, statUID(st), nil
		}
		if !os.IsNotExist(err) || path == "/" {
			return "", 0, err
		}
		path = filepath.Dir(path)
	}
}

// lookup finds a user and the groups to run with.
func lookup(uid int) (identity, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return identity{}, &Error{
			Message: fmt.Sprintf("the owner of the home, uid %d, is no user of this machine", uid),
			Do:      "useradd --create-home --uid " + strconv.Itoa(uid) + " " + ServiceUser,
			Kind:    "preflight_failed",
			Err:     err,
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

// environment is env for another user. What else is in it is the caller's to give.
func (who identity) environment(env []string) []string {
	own := map[string]string{"HOME": who.home, "USER": who.name, "LOGNAME": who.name}
	// Sockets and directories of root's session that the user cannot use.
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
