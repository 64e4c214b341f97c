package simulate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"hermes-box/guest/machine"
)

// Run calls the function in Programs for this program, if there is one. Otherwise it runs a program below the machine's
// directory as the current user, prints the log for journalctl and the version of an image for podman, and does nothing
// for any other program.
func (s *Machine) Run(ctx context.Context, c machine.Cmd) ([]byte, error) {
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
	if name == "journalctl" {
		return nil, s.journalctl(ctx, c)
	}
	if name == "podman" && slices.Contains(c.Args, "--version") {
		var version string
		err := s.view(func(st *state) {
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

func (s *Machine) exec(ctx context.Context, c machine.Cmd) ([]byte, error) {
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
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = c.Dir, s.environment(c.Env), c.Stdin, time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return out, nil
	}
	failure := &machine.ExitError{Cmd: c.Path + " " + strings.Join(c.Args, " "), Status: -1, Output: string(out), Err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		failure.Status = exit.ExitCode()
	}
	return out, failure
}

// RootVariable is the environment variable with the machine's directory, for its programs.
const RootVariable = "HERMES_BOX_GUEST_ROOT"

// environment returns the environment of a program. The machine's own directories come first in PATH.
func (s *Machine) environment(env []string) []string {
	if env == nil {
		env = []string{"PATH=" + defaultPath, "LANG=C.UTF-8"}
	}
	out := []string{RootVariable + "=" + s.root}
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			kv = "PATH=" + s.searchPath(path)
		}
		out = append(out, kv)
	}
	return out
}

const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// LoginEnvironment returns the environment of a login: HOME, PATH and the variables in /etc/environment, with real
// paths.
func (s *Machine) LoginEnvironment(home string) []string {
	env := []string{"HOME=" + filepath.Join(s.root, home), "PATH=" + defaultPath}
	file, _ := os.ReadFile(filepath.Join(s.root, "etc/environment"))
	for line := range strings.Lines(string(file)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(key, "#") || key == "PATH" {
			continue
		}
		if strings.HasPrefix(value, "/") {
			value = filepath.Join(s.root, value)
		}
		env = append(env, key+"="+value)
	}
	return s.environment(env)
}

func (s *Machine) searchPath(path string) string {
	var own, host []string
	for _, dir := range filepath.SplitList(path) {
		if strings.HasPrefix(dir, s.root) {
			own = append(own, dir)
			continue
		}
		own = append(own, filepath.Join(s.root, dir))
		if dir != "/usr/local/bin" { // the host's programs there do not belong to the machine
			host = append(host, dir)
		}
	}
	return strings.Join(append(own, host...), string(filepath.ListSeparator))
}

// Sync is only recorded, in Did.
func (s *Machine) Sync(context.Context) error {
	return s.change("sync", func(*state) error { return nil })
}

// Offline is only recorded, in Did.
func (s *Machine) Offline(context.Context) error {
	return s.change("offline", func(*state) error { return nil })
}

// Freeze is recorded in Did, and in the record of the machine until the thaw. Only programs that use Write have to wait
// for the thaw.
func (s *Machine) Freeze(_ context.Context, path string, _ time.Duration) (thaw func() error, err error) {
	writers := s.writers()
	if err := writers.Lock(); err != nil {
		return nil, err
	}
	end, err := s.hold("freeze", "thaw", path, nil)
	if err != nil {
		return nil, errors.Join(err, writers.Close())
	}
	return func() error { return errors.Join(end(), writers.Close()) }, nil
}

// Write calls write while the machine is not frozen; it waits for the thaw.
func (s *Machine) Write(write func() error) error {
	writers := s.writers()
	if err := writers.RLock(); err != nil {
		return err
	}
	return errors.Join(write(), writers.Close())
}

// writers is a lock on the root directory, which a freeze holds alone and those who write share.
func (s *Machine) writers() *flock.Flock { return flock.New(s.root, flock.SetFlag(os.O_RDONLY)) }

// hold records that a path is held, until release is called. After a crash the record still shows it.
func (s *Machine) hold(begin, end, path string, check func(*state) error) (release func() error, err error) {
	at := " " + strings.TrimPrefix(path, s.root)
	err = s.change(begin+at, func(st *state) error {
		if check != nil {
			if err := check(st); err != nil {
				return err
			}
		}
		st.Held = append(st.Held, begin+at)
		return nil
	})
	return func() error {
		return s.change(end+at, func(st *state) error {
			if i := slices.Index(st.Held, begin+at); i >= 0 {
				st.Held = slices.Delete(st.Held, i, i+1)
			}
			return nil
		})
	}, err
}

// Snapshot is only recorded: in Did, and in the record of the machine until the snapshot ends. Whoever reads the
// snapshot gets the current content of path.
func (s *Machine) Snapshot(_ context.Context, path string) (*machine.Snapshot, error) {
	end, err := s.hold("snapshot", "end snapshot", path, func(st *state) error {
		if st.Mapped == "" {
			return errors.New("the data disk is not mounted through device mapper")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &machine.Snapshot{Root: path, Full: func(context.Context) (bool, error) { return s.SnapshotFull, nil }, End: end}, nil
}

// KernelLog returns "", since no kernel is simulated.
func (s *Machine) KernelLog() string { return "" }

// EnsureUser records a user and makes its home.
func (s *Machine) EnsureUser(_ context.Context, name string, id int, home string) error {
	return s.change(fmt.Sprintf("user %s %d %s", name, id, home), func(st *state) error {
		st.Users[name] = id
		return os.MkdirAll(filepath.Join(s.root, home), 0o755)
	})
}

// Chown only checks that the path exists: changing the owner needs privilege.
func (s *Machine) Chown(path string, uid, gid int) error {
	return s.change(fmt.Sprintf("chown %s %d:%d", s.guestPath(path), uid, gid), func(*state) error {
		_, err := os.Lstat(path)
		return err
	})
}

// InstallPackages records the packages in archives. Here an archive is a text file with "NAME VERSION".
func (s *Machine) InstallPackages(_ context.Context, archives []string) error {
	packages := map[string]string{}
	for _, a := range archives {
		data, err := os.ReadFile(a)
		if err != nil {
			return err
		}
		f := strings.Fields(string(data))
		if len(f) != 2 {
			return fmt.Errorf("%s is not a package archive", a)
		}
		packages[f[0]] = f[1]
	}
	return s.change("install "+strings.Join(slices.Sorted(maps.Keys(packages)), " "), func(st *state) error {
		maps.Copy(st.Packages, packages)
		return nil
	})
}

// PackageVersion returns the version that InstallPackages recorded.
func (s *Machine) PackageVersion(_ context.Context, name string) (version string, err error) {
	err = s.view(func(st *state) { version = st.Packages[name] })
	return version, err
}
