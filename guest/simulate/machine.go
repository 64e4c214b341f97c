package simulate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hermes-box/guest"
	"hermes-box/guest/protocol"
)

// Run really runs a program below the directory, as the user we are. podman tells the version of an image;
// other programs are in Programs, or do nothing.
func (s *System) Run(ctx context.Context, c guest.Cmd) ([]byte, error) {
	name := filepath.Base(c.Path)
	if err := s.change("run "+name, func(*state) error { return nil }); err != nil {
		return nil, err
	}
	if f := s.Programs[name]; f != nil {
		return f(c)
	}
	if filepath.IsAbs(c.Path) && strings.HasPrefix(c.Path, s.root+string(filepath.Separator)) {
		return s.exec(ctx, c)
	}
	if name == "podman" && slices.Contains(c.Args, "--version") {
		var version string
		err := s.look(func(st *state) {
			for tag, im := range st.Images {
				if slices.Contains(c.Args, tag) {
					version = im.Version
				}
			}
		})
		return []byte("executor v" + version + "\n"), err
	}
	return nil, nil
}

func (s *System) exec(ctx context.Context, c guest.Cmd) ([]byte, error) {
	limit := c.Timeout
	if limit == 0 {
		limit = time.Minute
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = c.Dir, c.Env, c.Stdin, time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return out, nil
	}
	failure := &guest.ExitError{Cmd: c.Path + " " + strings.Join(c.Args, " "), Status: -1, Output: string(out), Err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		failure.Status = exit.ExitCode()
	}
	return out, failure
}

// Disk is what AddDisk and Format said.
func (s *System) Disk(_ context.Context, device string) (d guest.Disk, err error) {
	err = errors.Join(s.look(func(st *state) {
		var ok bool
		if d, ok = st.Disks[device]; !ok {
			err = fmt.Errorf("%s: no such device", device)
		}
	}), err)
	return d, err
}

// Format makes the device hold a filesystem.
func (s *System) Format(_ context.Context, device, uuid, _ string) error {
	return s.change("format "+device, func(st *state) error {
		d, ok := st.Disks[device]
		if !ok {
			return fmt.Errorf("%s: no such device", device)
		}
		d.Blank, d.Type, d.UUID = false, "ext4", uuid
		st.Disks[device] = d
		return nil
	})
}

// MountedUUID is the filesystem mounted at a path.
func (s *System) MountedUUID(_ context.Context, path string) (uuid string, err error) {
	err = s.look(func(st *state) { uuid = st.Mounts[s.guestPath(path)] })
	return uuid, err
}

// Mount follows /etc/fstab: by UUID, or bound to a directory of what is mounted. A bound directory becomes a
// link, which is as near as a plain directory comes.
func (s *System) Mount(_ context.Context, path string) error {
	at := s.guestPath(path)
	return s.change("mount "+at, func(st *state) error {
		table, err := os.ReadFile(filepath.Join(s.root, "/etc/fstab"))
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			if len(f) < 4 || f[1] != at {
				continue
			}
			if uuid, ok := strings.CutPrefix(f[0], "UUID="); ok {
				for _, d := range st.Disks {
					if d.UUID == uuid {
						st.Mounts[at] = uuid
						return nil
					}
				}
				return fmt.Errorf("no filesystem %s", uuid)
			}
			st.Mounts[at] = st.Mounts[protocol.DataDir]
			return s.bind(f[0], path)
		}
		return fmt.Errorf("%s is not in fstab", at)
	})
}

func (s *System) bind(from, to string) error {
	target, err := filepath.Rel(filepath.Dir(to), filepath.Join(s.root, from))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Symlink(target, to)
}

// Sync does nothing but count.
func (s *System) Sync(context.Context) error {
	return s.change("sync", func(*state) error { return nil })
}

// EnsureUser records a user and makes its home.
func (s *System) EnsureUser(_ context.Context, name string, id int, home string) error {
	return s.change("user "+name, func(st *state) error {
		st.Users[name] = id
		return os.MkdirAll(filepath.Join(s.root, home), 0o755)
	})
}

// Chown only looks whether the path is there: giving files away takes privilege.
func (s *System) Chown(path string, _, _ int) error {
	_, err := os.Lstat(path)
	return err
}

// InstallPackages records archives named as Debian names them, NAME_VERSION_ARCH.deb.
func (s *System) InstallPackages(_ context.Context, archives []string) error {
	return s.change("install", func(st *state) error {
		for _, a := range archives {
			name, rest, _ := strings.Cut(filepath.Base(a), "_")
			version, _, _ := strings.Cut(rest, "_")
			if v, err := url.PathUnescape(version); err == nil {
				version = v
			}
			st.Packages[name] = version
		}
		return nil
	})
}

// PackageVersion is what InstallPackages recorded.
func (s *System) PackageVersion(_ context.Context, name string) (version string, err error) {
	err = s.look(func(st *state) { version = st.Packages[name] })
	return version, err
}

// Get asks Executor while its unit is active.
func (s *System) Get(_ context.Context, address string, header map[string]string) (int, []byte, error) {
	return s.ask(http.MethodGet, address, header)
}

// Post does the same.
func (s *System) Post(_ context.Context, address string, header map[string]string, _ []byte) (int, []byte, error) {
	return s.ask(http.MethodPost, address, header)
}

func (s *System) ask(method, address string, header map[string]string) (int, []byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, nil, err
	}
	var active guest.Unit
	if err := s.look(func(st *state) { active = st.Units["executor.service"].Unit }); err != nil {
		return 0, nil, err
	}
	ports, _ := os.ReadFile(filepath.Join(s.root, protocol.StateDir, "ports.env"))
	if active.Active != "active" || !strings.Contains(string(ports), "EXECUTOR_PORT="+u.Port()+"\n") {
		return 0, nil, fmt.Errorf("dial tcp %s: connect: connection refused", u.Host)
	}
	token, _ := os.ReadFile(filepath.Join(s.root, protocol.DataDir, "secrets/executor-token.env"))
	want := "Bearer " + strings.TrimPrefix(strings.TrimSpace(string(token)), "EXECUTOR_AUTH_TOKEN=")
	switch {
	case header["Authorization"] != want:
		return http.StatusUnauthorized, nil, nil
	case u.Path == "/mcp" && method == http.MethodPost:
		return http.StatusOK, []byte(`{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"executor","version":"1.0.0"}}}`), nil
	}
	return http.StatusNotFound, nil, nil
}
