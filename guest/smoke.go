package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// smokeTime bounds one run of a program being proved; codex alone took 20 s on emulated CPUs.
const smokeTime = 3 * time.Minute

// smokeRun runs a program of a release as nobody, with a home of its own that is thrown away: it cannot read
// a login, and what it writes is gone. path is a list of directories to find programs in, before the system's.
func (g *Guest) smokeRun(ctx context.Context, path []string, program string, args ...string) (string, error) {
	if err := os.MkdirAll(g.Path(smokeDir), 0o755); err != nil {
		return "", err
	}
	home, err := os.MkdirTemp(g.Path(smokeDir), "home-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	for _, dir := range []string{"", ".claude", ".codex", ".hermes", "tmp"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			return "", err
		}
		if err := g.Machine.Chown(filepath.Join(home, dir), nobodyID, nobodyID); err != nil {
			return "", err
		}
	}
	out, err := g.Machine.Run(ctx, machine.Cmd{
		Path: program,
		Args: args,
		Dir:  home,
		User: "nobody",
		Env: []string{
			"HOME=" + home,
			"TMPDIR=" + filepath.Join(home, "tmp"),
			"PATH=" + strings.Join(append(path, "/usr/local/bin", "/usr/bin", "/bin"), ":"),
			"LANG=C.UTF-8",
			"CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude"),
			"CODEX_HOME=" + filepath.Join(home, ".codex"),
			"HERMES_HOME=" + filepath.Join(home, ".hermes"),
			"DISABLE_UPDATES=1",
			"HERMES_DISABLE_LAZY_INSTALLS=1",
			"TIRITH_ENABLED=false",
			"PYTHONDONTWRITEBYTECODE=1",
		},
		Timeout: smokeTime,
	})
	return string(out), err
}

// smokeVersion runs `program --version` and wants the version in what it prints.
func (g *Guest) smokeVersion(ctx context.Context, path []string, program, version string) error {
	out, err := g.smokeRun(ctx, path, program, "--version")
	if err != nil {
		return err
	}
	if !mentions(out, version) {
		return &protocol.Error{Code: "health_failed",
			Message: fmt.Sprintf("%s says it is %q, not %s", filepath.Base(program), firstLine(out), version),
			Hint:    "the lock names another version than its artifacts hold: correct the lock"}
	}
	return nil
}

// smokeCurrent proves that the current release of a component still runs; nothing to do if there is none.
func (g *Guest) smokeCurrent(ctx context.Context, name string) error {
	all, err := g.releases()
	if err != nil {
		return err
	}
	for _, c := range components() {
		if r := all[name].Current; c.name() == name && r != nil {
			return c.smoke(ctx, g, r.Component, g.releasePath(c, r.Dir))
		}
	}
	return nil
}

// lost tells whether the current release of a component is not whole.
func (g *Guest) lost(ctx context.Context, name string) (bool, error) {
	all, err := g.releases()
	if err != nil {
		return false, err
	}
	for _, c := range components() {
		if r := all[name].Current; c.name() == name && r != nil {
			ok, err := g.whole(ctx, c, r.Dir)
			return !ok && err == nil, err
		}
	}
	return false, nil
}

// mentions finds a version in text as a word of its own: 1.2 is not in "11.2" or "1.2.3".
func mentions(text, version string) bool {
	inner := func(b byte) bool { return b >= '0' && b <= '9' || b == '.' }
	for i := 0; ; {
		n := strings.Index(text[i:], version)
		if n < 0 || version == "" {
			return false
		}
		start, end := i+n, i+n+len(version)
		before := start > 0 && inner(text[start-1])
		after := end < len(text) && (text[end] >= '0' && text[end] <= '9' ||
			text[end] == '.' && end+1 < len(text) && text[end+1] >= '0' && text[end+1] <= '9')
		if !before && !after {
			return true
		}
		i = start + 1
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
