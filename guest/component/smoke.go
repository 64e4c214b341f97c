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

// smokeTime is the timeout for one run of a program. codex --version took 20 s on emulated CPUs.
const smokeTime = 3 * time.Minute

// smokeRun runs a program of a release as the user nobody, so that the program cannot read a login. Its home directory
// has only empty directories and is removed afterwards, with all files that the program wrote there. The directories in
// path come first in the PATH of the program.
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

// mentions reports whether text contains the version other than as a part of a longer version number: for version 1.2
// it accepts "v1.2", but neither "11.2" nor "1.2.3".
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
