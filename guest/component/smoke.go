package component

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// smokeTime bounds one run of a program. codex --version took 20 s on emulated CPUs.
const smokeTime = 3 * time.Minute

// smokeRun runs a program of a release as nobody, with an empty home directory that is removed afterwards: it can neither
// read a login nor leave anything behind. The directories in path come first in its PATH.
func (env Env) smokeRun(ctx context.Context, path []string, program string, args ...string) (string, error) {
	if err := os.MkdirAll(env.Path(layout.Smoke), 0o755); err != nil {
		return "", err
	}
	home, err := os.MkdirTemp(env.Path(layout.Smoke), "home-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	for _, dir := range []string{"", ".claude", ".codex", ".hermes", "tmp"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			return "", err
		}
		if err := env.Machine.Chown(filepath.Join(home, dir), layout.NobodyID, layout.NobodyID); err != nil {
			return "", err
		}
	}
	out, err := env.Machine.Run(ctx, machine.Cmd{
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

// smokeVersion runs `program --version` and fails unless it prints the version.
func (env Env) smokeVersion(ctx context.Context, path []string, program, version string) error {
	out, err := env.smokeRun(ctx, path, program, "--version")
	if err != nil {
		return err
	}
	if !mentions(out, version) {
		return &protocol.Error{Code: "health_failed",
			Message: fmt.Sprintf("%s reports version %q, not %s", filepath.Base(program), firstLine(out), version),
			Hint:    "the version in the lock is not the version of its artifacts: correct the lock"}
	}
	return nil
}

// mentions reports whether text has the version as a whole word: "11.2" and "1.2.3" do not mention 1.2.
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
