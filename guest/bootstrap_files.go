package guest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"hermes-box/assets/guestfiles"
	"hermes-box/guest/protocol"
)

// recoveryUnit runs before the services: CheckData and Recover.
const recoveryUnit = "hermes-box-recovery.service"

// keysFile holds the keys that may log in. It is outside the home, which is a mount that cloud-init may write
// into before it is there, and root's, so that what runs as agent cannot add to it unnoticed.
const keysFile = "/etc/ssh/authorized_keys.d/" + agentUser

// keys copies the keys that Lima gave to agent's first home. Once the home is bound over, what is there is on
// the data disk, and no longer asked.
func (b *bootstrap) keys(ctx context.Context) (bool, error) {
	bound, err := b.System.MountedUUID(ctx, b.Path(loginHome))
	if err != nil {
		return false, err
	}
	if bound != "" {
		if info, err := os.Stat(b.Path(keysFile)); err != nil || info.Size() == 0 {
			return false, errors.Join(errors.New("the home is mounted, but "+keysFile+" is missing"), err)
		}
		return false, nil
	}
	keys, err := os.ReadFile(b.Path(loginHome, ".ssh/authorized_keys"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if !holdsKey(string(keys)) {
		return false, &protocol.Error{Code: "preflight_failed",
			Message: loginHome + "/.ssh/authorized_keys holds no key: nobody could log in any more"}
	}
	return b.install(keysFile, keys, 0o644)
}

// holdsKey looks for one line that is neither empty nor a comment.
func holdsKey(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// files puts everything of package guestfiles in its place but the sshd settings, which login does.
func (b *bootstrap) files(context.Context) (bool, error) {
	any := false
	for _, f := range guestfiles.All() {
		if f.Path == guestfiles.SSHD {
			continue
		}
		changed, err := b.install(f.Path, f.Data, f.Mode)
		if err != nil {
			return false, err
		}
		any = any || changed
	}
	return any, nil
}

// terminal teaches the machine the terminals it does not know.
func (b *bootstrap) terminal(ctx context.Context) (bool, error) {
	const compiled = "/etc/terminfo/x/xterm-ghostty"
	source := b.Path(guestfiles.TerminfoSource)
	if newer(b.Path(compiled), source) {
		return false, nil
	}
	dir := b.Path("/etc/terminfo")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	_, err := b.System.Run(ctx, Cmd{Path: "tic", Args: []string{"-x", "-o", dir, source}})
	return true, err
}

func newer(made, source string) bool {
	m, err := os.Stat(made)
	s, err2 := os.Stat(source)
	return err == nil && err2 == nil && !m.ModTime().Before(s.ModTime())
}

// units enables the services; each stays inactive until its component is applied. What the image would update
// by itself is switched off: a box is what its lock says.
func (b *bootstrap) units(ctx context.Context) (bool, error) {
	if err := b.System.ReloadUnits(ctx); err != nil {
		return false, err
	}
	for _, unit := range guestfiles.Enabled {
		if err := b.System.EnableUnit(ctx, unit); err != nil {
			return false, err
		}
	}
	for _, cmd := range []Cmd{
		{Path: "systemctl", Args: []string{"mask", "--quiet", "--now", "apt-daily.timer", "apt-daily-upgrade.timer",
			"unattended-upgrades.service", "podman-auto-update.timer", "podman-auto-update.service"}, Timeout: 3 * time.Minute},
		{Path: "systemctl", Args: []string{"try-restart", "systemd-journald.service"}},
		{Path: "sysctl", Args: []string{"--quiet", "--load", b.Path("/etc/sysctl.d/60-hermes-box.conf")}},
	} {
		if _, err := b.System.Run(ctx, cmd); err != nil {
			return false, err
		}
	}
	return true, nil
}

// login hardens sshd. The settings are taken back if sshd does not like them, for a reload with a mistake in
// them would be the last login.
func (b *bootstrap) login(ctx context.Context) (bool, error) {
	for _, f := range guestfiles.All() {
		if f.Path != guestfiles.SSHD {
			continue
		}
		changed, err := b.install(f.Path, f.Data, f.Mode)
		if err != nil {
			return false, err
		}
		// sshd checks that this directory is there, and on a socket-activated machine nobody has made it yet.
		if err := os.MkdirAll(b.Path("/run/sshd"), 0o755); err != nil {
			return false, err
		}
		if _, err := b.System.Run(ctx, Cmd{Path: "sshd", Args: []string{"-t"}}); err != nil {
			return false, errors.Join(err, b.remove(b.Path(f.Path)))
		}
		// Also when nothing changed: the run that changed it may have ended before this.
		_, err = b.System.Run(ctx, Cmd{Path: "systemctl", Args: []string{"try-reload-or-restart", "ssh.service"}})
		return changed, err
	}
	return false, errors.New("the helper carries no " + guestfiles.SSHD)
}
