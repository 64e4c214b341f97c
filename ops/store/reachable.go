package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/ops/fault"
)

// Reachable returns an error if a path does not exist because a symlink in it leads nowhere, as to a disk that is not
// mounted. What is at the path then is unknown. It returns nil for a path that exists, or is simply missing.
func Reachable(path string) error {
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			if at == filepath.Dir(at) {
				return nil
			}
			continue
		}
		if info.Mode().Type() == fs.ModeSymlink {
			if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
				target, _ := os.Readlink(at)
				return fault.New(fault.PreflightFailed, "%s cannot be reached: %s is a symlink to %s, which is not there", path, at, target).
					Hint("connect and mount the disk that it is on; then: ls %s", shellescape.Quote(at+"/"))
			}
		}
		return nil
	}
}
