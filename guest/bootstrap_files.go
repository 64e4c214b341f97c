package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"hermes-box/assets/guestfiles"
	"hermes-box/guest/machine"
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
	bound, err := b.Machine.MountedUUID(ctx, b.Path(loginHome))
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

// files puts everything of package guestfiles in its place but the sshd settings, which login does. Before the
// first change the record of a whole bootstrap goes, so that whoever comes after a crash does the phases that
// make the machine read the files.
func (b *bootstrap) files(context.Context) (bool, error) {
	any := false
	for _, f := range guestfiles.All() {
		if b.same(f.Path, f.Data, f.Mode) {
			continue
		}
		if err := b.remove(b.Path(bootstrapFile)); err != nil {
			return false, err
		}
		any = true
		if f.Path == guestfiles.SSHD {
			continue
		}
		if _, err := b.install(f.Path, f.Data, f.Mode); err != nil {
			return false, err
		}
	}
	return any, nil
}

// whole tells that a run before this one came to its end and that no file has changed since.
func (b *bootstrap) whole() bool {
	_, err := os.Stat(b.Path(bootstrapFile))
	return err == nil
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
	_, err := b.Machine.Run(ctx, machine.Cmd{Path: "tic", Args: []string{"-x", "-o", dir, source}})
	return true, err
}

func newer(made, source string) bool {
	m, err := os.Stat(made)
	s, err2 := os.Stat(source)
	return err == nil && err2 == nil && !m.ModTime().Before(s.ModTime())
}

// selfActing are units of the image that would change what is installed. A box is what its lock says.
var selfActing = []string{"apt-daily.timer", "apt-daily-upgrade.timer", "unattended-upgrades.service",
	"podman-auto-update.timer", "podman-auto-update.service",
	// When memory is short oomd kills a whole tmux session, where the kernel kills one process.
	"systemd-oomd.service", "systemd-oomd.socket"}

// units enables the services, each of which stays inactive until its component is applied, and switches off what
// would update the machine behind the lock's back. systemd reads its files once for all of it.
func (b *bootstrap) units(ctx context.Context) (bool, error) {
	if b.whole() {
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
	if err := systemctl(append([]string{"mask", "--no-reload", "--quiet"}, selfActing...)...); err != nil {
		return false, err
	}
	if err := b.Machine.ReloadUnits(ctx); err != nil {
		return false, err
	}
	// An image need not have all of them, which systemctl takes for an error; they are masked in any case.
	_ = systemctl(append([]string{"stop"}, selfActing...)...)
	if err := systemctl("try-reload-or-restart", "--no-block", "systemd-journald.service", "systemd-resolved.service"); err != nil {
		return false, err
	}
	// The manager of agent, which runs since linger was enabled, reads its settings again. A restart would end what it runs.
	if err := systemctl("reload", fmt.Sprintf("user@%d.service", agentID)); err != nil {
		return false, err
	}
	_, err := b.Machine.Run(ctx, machine.Cmd{Path: "sysctl", Args: []string{"--quiet", "--load", b.Path("/etc/sysctl.d/60-hermes-box.conf")}})
	return true, err
}

// login hardens sshd. The settings are taken back if sshd does not like them, for a reload with a mistake in
// them would be the last login.
func (b *bootstrap) login(ctx context.Context) (bool, error) {
	if b.whole() {
		return false, nil
	}
	all := guestfiles.All()
	i := slices.IndexFunc(all, func(f guestfiles.File) bool { return f.Path == guestfiles.SSHD })
	if _, err := b.install(all[i].Path, all[i].Data, all[i].Mode); err != nil {
		return false, err
	}
	// sshd wants this directory, and on a socket-activated machine nobody may have made it yet.
	if err := os.MkdirAll(b.Path("/run/sshd"), 0o755); err != nil {
		return false, err
	}
	if _, err := b.Machine.Run(ctx, machine.Cmd{Path: "sshd", Args: []string{"-t"}}); err != nil {
		return false, errors.Join(err, b.remove(b.Path(guestfiles.SSHD)))
	}
	_, err := b.Machine.Run(ctx, machine.Cmd{Path: "systemctl", Args: []string{"try-reload-or-restart", "ssh.service"}})
	return true, err
}
