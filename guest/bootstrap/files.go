package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"hermes-box/assets/guestfiles"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// keysFile has the keys that may log in. It is not in the home, because cloud-init may write there before the home is
// mounted. It belongs to root, so that programs of the agent user cannot add a key without sudo.
const keysFile = "/etc/ssh/authorized_keys.d/" + layout.AgentUser

// keys copies the keys from the home on the root disk, where Lima wrote them, to keysFile. If the home of the data disk
// is mounted over that home already, an earlier run must have copied the keys.
func (b *run) keys(ctx context.Context) (bool, error) {
	bound, err := b.Machine.MountedUUID(ctx, b.Path(layout.LoginHome))
	if err != nil {
		return false, err
	}
	if bound != "" {
		if info, err := os.Stat(b.Path(keysFile)); err != nil || info.Size() == 0 {
			return false, errors.Join(errors.New(keysFile+" is missing or empty, so nobody could log in"), err)
		}
		return false, nil
	}
	keys, err := os.ReadFile(b.Path(layout.LoginHome, ".ssh/authorized_keys"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if !holdsKey(string(keys)) {
		return false, &protocol.Error{Code: "preflight_failed",
			Message: layout.LoginHome + "/.ssh/authorized_keys has no key: nobody could log in afterwards"}
	}
	return b.install(keysFile, keys, 0o644)
}

// holdsKey reports whether text has a line that is neither empty nor a comment.
func holdsKey(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// files installs the files of package guestfiles, except the settings of sshd, which the login phase installs. It also
// makes the command tm a symlink to the helper. Before the first change it removes the record of a complete bootstrap.
// After a crash, the next run then repeats the phases that make the machine read the files.
func (b *run) files(context.Context) (bool, error) {
	changed := false
	for _, f := range guestfiles.All() {
		if b.same(f.Path, f.Data, f.Mode) {
			continue
		}
		if err := b.Remove(b.Path(layout.Bootstrapped)); err != nil {
			return false, err
		}
		changed = true
		if f.Path == guestfiles.SSHD {
			continue
		}
		if _, err := b.install(f.Path, f.Data, f.Mode); err != nil {
			return false, err
		}
	}
	if at, err := os.Readlink(b.Path(layout.Tm)); err == nil && at == protocol.HelperPath {
		return changed, nil
	}
	if err := errors.Join(b.Remove(b.Path(layout.Bootstrapped)), os.MkdirAll(path.Dir(b.Path(layout.Tm)), 0o755)); err != nil {
		return false, err
	}
	return true, b.Symlink(protocol.HelperPath, b.Path(layout.Tm))
}

// complete reports whether an earlier run has finished, and no file that the machine has to read has changed since.
func (b *run) complete() bool {
	_, err := os.Stat(b.Path(layout.Bootstrapped))
	return err == nil
}

// terminal compiles the terminfo source for Ghostty, unless the compiled entry is at least as new.
func (b *run) terminal(ctx context.Context) (bool, error) {
	const compiled = "/etc/terminfo/x/xterm-ghostty"
	source := b.Path(guestfiles.TerminfoSource)
	if newer(b.Path(compiled), source) {
		return false, nil
	}
	dir := b.Path("/etc/terminfo")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	_, err := b.Machine.Run(ctx, machine.Cmd{Path: "tic", Args: []string{"-x", "-o", dir, source}})
	return true, err
}

// newer reports whether a compiled file is at least as new as its source.
func newer(made, source string) bool {
	m, err := os.Stat(made)
	s, err2 := os.Stat(source)
	return err == nil && err2 == nil && !m.ModTime().Before(s.ModTime())
}

// masked are units of the image that must not run in a box.
var masked = []string{
	// These would change installed software. Only an apply may do that.
	"apt-daily.timer", "apt-daily-upgrade.timer", "unattended-upgrades.service", "podman-auto-update.timer", "podman-auto-update.service",
	// When memory is short, oomd kills a whole tmux session; the kernel kills one process.
	"systemd-oomd.service", "systemd-oomd.socket",
}

// units enables the services and masks the units that must not run in a box. The service of a component stays inactive
// until the component is applied. systemd reloads its files once.
func (b *run) units(ctx context.Context) (bool, error) {
	if b.complete() {
		return false, nil
	}
	systemctl := func(args ...string) error {
		_, err := b.Machine.Run(ctx, machine.Cmd{Path: "systemctl", Args: args, Timeout: 3 * time.Minute})
		return err
	}
	for _, unit := range guestfiles.Enabled {
		if err := b.Machine.EnableUnit(ctx, unit); err != nil {
			return false, err
		}
	}
	if err := systemctl(append([]string{"mask", "--no-reload", "--quiet"}, masked...)...); err != nil {
		return false, err
	}
	if err := b.Machine.ReloadUnits(ctx); err != nil {
		return false, err
	}
	// systemctl fails for a unit that the image does not have; it is masked in any case.
	_ = systemctl(append([]string{"stop"}, masked...)...)
	if err := systemctl("restart", "--no-block", protocol.HelperUnit); err != nil {
		return false, err
	}
	if err := systemctl("try-reload-or-restart", "--no-block", "systemd-journald.service", "systemd-resolved.service"); err != nil {
		return false, err
	}
	// Make the service manager of the agent user read its settings again. A restart would end the programs it runs.
	if err := systemctl("reload", fmt.Sprintf("user@%d.service", layout.AgentID)); err != nil {
		return false, err
	}
	_, err := b.Machine.Run(ctx, machine.Cmd{Path: "sysctl", Args: []string{"--quiet", "--load", b.Path("/etc/sysctl.d/60-hermes-box.conf")}})
	return true, err
}

// login installs the settings of sshd. It removes them again if sshd rejects them, since nobody could log in after a
// reload of invalid settings.
func (b *run) login(ctx context.Context) (bool, error) {
	if b.complete() {
		return false, nil
	}
	all := guestfiles.All()
	i := slices.IndexFunc(all, func(f guestfiles.File) bool { return f.Path == guestfiles.SSHD })
	if _, err := b.install(all[i].Path, all[i].Data, all[i].Mode); err != nil {
		return false, err
	}
	// sshd needs this directory. With socket activation it may not exist yet.
	if err := os.MkdirAll(b.Path("/run/sshd"), 0o755); err != nil {
		return false, err
	}
	if _, err := b.Machine.Run(ctx, machine.Cmd{Path: "sshd", Args: []string{"-t"}}); err != nil {
		return false, errors.Join(err, b.Remove(b.Path(guestfiles.SSHD)))
	}
	_, err := b.Machine.Run(ctx, machine.Cmd{Path: "systemctl", Args: []string{"try-reload-or-restart", "ssh.service"}})
	return true, err
}
