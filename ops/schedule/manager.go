package schedule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"hermes-box/ops/store"
)

// Manager installs timers for the current user.
type Manager struct {
	launchd bool
	dir     string                                          // of the files
	run     func(ctx context.Context, argv ...string) error // runs a command of the system
	uid     int
}

// System returns the manager of this system.
func System() (*Manager, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	m := &Manager{launchd: runtime.GOOS == "darwin", run: run, uid: os.Getuid()}
	m.dir = filepath.Join(home, "Library", "LaunchAgents")
	if !m.launchd {
		config, err := os.UserConfigDir()
		if err != nil {
			return nil, err
		}
		m.dir = filepath.Join(config, "systemd", "user")
	}
	return m, nil
}

// file is a file of a timer.
type file struct{ path, text string }

// files returns the files of a job.
func (m *Manager) files(j Job) []file {
	if m.launchd {
		return []file{{filepath.Join(m.dir, j.label()+".plist"), j.agent()}}
	}
	return []file{{filepath.Join(m.dir, j.Name()+".service"), j.service()}, {filepath.Join(m.dir, j.Name()+".timer"), j.timer()}}
}

// State is the state of a timer.
type State string

// The states. A timer that is Outdated was installed for another period or by another version.
const (
	Off      State = "off"
	On       State = "on"
	Outdated State = "outdated"
	None     State = "none" // this host installs no timers
)

// State returns the state of the timer of a job, from its files. It runs nothing.
func (m *Manager) State(j Job) State {
	state := On
	for _, f := range m.files(j) {
		text, err := store.ReadFile(f.path, 1<<20)
		if err != nil {
			return Off
		}
		if m.compared(string(text)) != m.compared(f.text) {
			state = Outdated
		}
	}
	if _, err := os.Lstat(m.wants(j)); !m.launchd && err != nil {
		return Off // it is not enabled
	}
	return state
}

// compared returns the text of a file without the path of the program and the environment, which differ between shells.
func (m *Manager) compared(text string) string {
	if m.launchd {
		text = without(text, "<key>ProgramArguments</key>", "<string>--config</string>")
		return without(text, "<key>EnvironmentVariables</key>", "<key>StartCalendarInterval</key>")
	}
	return without(text, "[Service]", ` "--config"`)
}

// without removes the text between two marks.
func without(text, from, to string) string {
	before, rest, ok := strings.Cut(text, from)
	_, after, found := strings.Cut(rest, to)
	if !ok || !found {
		return text
	}
	return before + from + to + after
}

// wants is the link that systemctl enable makes.
func (m *Manager) wants(j Job) string {
	return filepath.Join(m.dir, "timers.target.wants", j.Name()+".timer")
}

// On installs the timer of a job, or replaces it. If it fails, nothing is left of the timer.
func (m *Manager) On(ctx context.Context, j Job) (err error) {
	if err := j.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.removeFiles(j))
		}
	}()
	for _, f := range m.files(j) {
		if err := store.WriteFile(f.path, []byte(f.text), 0o644); err != nil {
			return err
		}
	}
	if m.launchd {
		_ = m.run(ctx, "launchctl", "bootout", m.target(j)) // the earlier one, if there is one
		return m.run(ctx, "launchctl", "bootstrap", m.domain(), m.files(j)[0].path)
	}
	if err := m.run(ctx, "systemctl", "--user", "daemon-reload"); err != nil {
		return err
	}
	if err := m.run(ctx, "systemctl", "--user", "enable", j.Name()+".timer"); err != nil {
		return err
	}
	return m.run(ctx, "systemctl", "--user", "restart", j.Name()+".timer")
}

// Off removes the timer of a job. It is no error if there is none.
func (m *Manager) Off(ctx context.Context, j Job) error {
	there := false
	for _, f := range m.files(j) {
		_, err := os.Lstat(f.path)
		there = there || err == nil
	}
	if !there {
		return nil
	}
	// The commands fail if the system does not know the timer, or if nobody is logged in. The files are removed
	// anyway, so that there is no timer after the next login.
	if m.launchd {
		_ = m.run(ctx, "launchctl", "bootout", m.target(j))
		return m.removeFiles(j)
	}
	_ = m.run(ctx, "systemctl", "--user", "disable", "--now", j.Name()+".timer")
	err := m.removeFiles(j)
	_ = m.run(ctx, "systemctl", "--user", "daemon-reload")
	return err
}

func (m *Manager) removeFiles(j Job) (err error) {
	paths := []string{m.wants(j)}
	for _, f := range m.files(j) {
		paths = append(paths, f.path)
	}
	for _, path := range paths {
		if removeErr := os.Remove(path); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return err
}

func (m *Manager) domain() string      { return "gui/" + strconv.Itoa(m.uid) }
func (m *Manager) target(j Job) string { return m.domain() + "/" + j.label() }

// Lingers reports whether timers of the user run while the user is not logged in. On macOS they never do.
func (m *Manager) Lingers(user string) bool {
	_, err := os.Lstat(filepath.Join("/var/lib/systemd/linger", filepath.Base(user)))
	return !m.launchd && err == nil
}

// bound is how long a command of the system may take.
const bound = 30 * time.Second

func run(ctx context.Context, argv ...string) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(out.String()))
	}
	return nil
}
