package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// EnsureUser makes a user and a group with this id, unless the user exists, and gives the user bash as the shell and
// sudo without a password. It is an error if the user exists with another id or home.
func (m *Machine) EnsureUser(ctx context.Context, name string, id int, home string) error {
	if err := m.ensureAccount(ctx, name, id, home); err != nil {
		return err
	}
	return m.ensureSudo(ctx, name)
}

func (m *Machine) ensureAccount(ctx context.Context, name string, id int, home string) error {
	want := strconv.Itoa(id)
	u, err := user.Lookup(name)
	var unknown user.UnknownUserError
	switch {
	case err == nil:
		if u.Uid != want || u.Gid != want || u.HomeDir != home {
			return fmt.Errorf("user %s has uid %s, gid %s and home %s; the box needs %d, %d and %s",
				name, u.Uid, u.Gid, u.HomeDir, id, id, home)
		}
		return m.userSettings(ctx, name)
	case !errors.As(err, &unknown):
		return err
	}
	if other, err := user.LookupId(want); err == nil {
		return fmt.Errorf("uid %d belongs to user %s; the box needs it for %s", id, other.Username, name)
	}
	if g, err := user.LookupGroup(name); err == nil && g.Gid != want {
		return fmt.Errorf("group %s has gid %s; the box needs %d", name, g.Gid, id)
	} else if err != nil {
		if _, err := m.Run(ctx, Cmd{Path: "groupadd", Args: []string{"--gid", want, name}}); err != nil {
			return err
		}
	}
	if _, err = m.Run(ctx, Cmd{Path: "useradd", Args: []string{"--uid", want, "--gid", want, "--home-dir", home,
		"--create-home", name}}); err != nil {
		return err
	}
	return m.userSettings(ctx, name)
}

// userSettings sets the shell, and adds the user to journalGroup, which takes effect at the next login. An image may
// lack that group.
func (m *Machine) userSettings(ctx context.Context, name string) error {
	args := []string{"--shell", "/bin/bash"}
	if _, err := user.LookupGroup(journalGroup); err == nil {
		args = append(args, "--append", "--groups", journalGroup)
	}
	_, err := m.Run(ctx, Cmd{Path: "usermod", Args: append(args, name)})
	return err
}

// ensureSudo lets the user become root without a password, since the VM is the security boundary. visudo checks the
// file before sudo reads it, because an invalid line may disable sudo.
func (m *Machine) ensureSudo(ctx context.Context, name string) error {
	const dir = "/etc/sudoers.d"
	path, beside := filepath.Join(dir, "hermes-box"), filepath.Join(dir, "hermes-box.new") // sudo ignores names with a dot
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	os.Remove(beside)
	if err := os.WriteFile(beside, []byte(name+" ALL=(ALL:ALL) NOPASSWD: ALL\n"), 0o440); err != nil {
		return err
	}
	if _, err := m.Run(ctx, Cmd{Path: "visudo", Args: []string{"-c", "-q", "-f", beside}}); err != nil {
		os.Remove(beside)
		return err
	}
	return os.Rename(beside, path)
}

// Chown sets the owner of one path. It does not follow links.
func (m *Machine) Chown(path string, uid, gid int) error { return os.Lchown(path, uid, gid) }
