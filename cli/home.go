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

// homeDir returns the state directory: HERMES_BOX_HOME or, if that is not set, the default.
func homeDir() (string, error) {
	if dir := os.Getenv(homeName); dir != "" {
		return filepath.Clean(dir), absolute(homeName, dir)
	}
	return usualHome()
}

// usualHome returns the default state directory, .hermes-box in the home directory. For root it is in the home directory of
// the user hermes-box, if there is one, since Lima refuses root.
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

// needHome sets an unset HOME from the user database, for this process and its children, since Lima panics without it.
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

// absolute returns an error if the directory in a variable is not absolute, since a relative one depends on the
// working directory. A quoted "~", which the shell does not expand, is refused too.
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
