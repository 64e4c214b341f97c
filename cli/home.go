package cli

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/internal/runas"
	"hermes-box/ops/fault"
)

// homeName is the environment variable that names the state directory.
const homeName = "HERMES_BOX_HOME"

// homeDir is the state directory: HERMES_BOX_HOME, else the usual one.
func homeDir() (string, error) {
	if dir := os.Getenv(homeName); dir != "" {
		return filepath.Clean(dir), absolute(homeName, dir)
	}
	return usualHome()
}

// usualHome is .hermes-box in the home directory; for root it is that of the user hermes-box where there is one, since
// Lima refuses root.
func usualHome() (string, error) {
	if runtime.GOOS == "linux" && os.Geteuid() == 0 {
		if u, err := user.Lookup(runas.ServiceUser); err == nil {
			return filepath.Join(u.HomeDir, ".hermes-box"), nil
		}
	}
	if err := needHome(); err != nil {
		return "", err
	}
	return filepath.Join(os.Getenv("HOME"), ".hermes-box"), nil
}

// needHome refuses to go on without a home directory: Lima panics where HOME is not set. An unset HOME is taken from the
// user database, for this process and those it starts.
func needHome() error {
	home := os.Getenv("HOME")
	if home != "" {
		return absolute("HOME", home)
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		return os.Setenv("HOME", u.HomeDir)
	}
	return fault.New(fault.PreflightFailed, "HOME is not set, and this user has no home directory").
		Hint("export HOME=DIR, with a directory of your own")
}

// absolute refuses a directory that is not absolute: it would be another one in each working directory. A "~" in quotes
// is one too, since no shell has replaced it.
func absolute(variable, dir string) error {
	if filepath.IsAbs(dir) {
		return nil
	}
	err := fault.New(fault.InvalidInput, "%s is %q, which is not an absolute path", variable, dir)
	meant := dir
	if rest, ok := strings.CutPrefix(dir, "~"); ok {
		home := os.Getenv("HOME")
		if rest != "" && rest[0] != '/' || !filepath.IsAbs(home) {
			return err.Hint("export %s=/DIR", variable)
		}
		meant = filepath.Join(home, rest)
	}
	if meant, absErr := filepath.Abs(meant); absErr == nil {
		return err.Hint("export %s=%s", variable, shellescape.Quote(meant))
	}
	return err.Hint("export %s=/DIR", variable)
}
