package artifact

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"
)

// Size returns how many bytes the cache in dir holds, unfinished downloads included; 0 if there is no cache.
func Size(dir string) (bytes int64) {
	for _, sub := range []string{"sha256", "sha512", "partial"} {
		entries, _ := os.ReadDir(filepath.Join(dir, sub))
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				bytes += info.Size()
			}
		}
	}
	return bytes
}

// unfinished matches the names of partial files and of corrupt objects; see partialPath and aside.
var unfinished = regexp.MustCompile(`^(sha256-[0-9a-f]{64}|sha512-[0-9a-f]{128})(\.corrupt)?$`)

// Sweep removes unfinished downloads and moved-aside corrupt objects that were last written longer than age ago.
// Without Sweep they could stay forever, for example if the lock no longer names them. Files that a process has locked
// stay, and so do files with other names. A missing cache is no error.
func Sweep(dir string, age time.Duration) error {
	partial := filepath.Join(dir, "partial")
	entries, err := os.ReadDir(partial)
	if os.IsNotExist(err) {
		return nil
	}
	for _, e := range entries {
		info, infoErr := e.Info()
		if infoErr != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < age || !unfinished.MatchString(e.Name()) {
			continue
		}
		if removeErr := removeIdle(filepath.Join(partial, e.Name()), info); removeErr != nil && err == nil {
			err = removeErr
		}
	}
	return err
}

// removeIdle removes a file unless it is locked, or is no longer the file that was seen.
func removeIdle(path string, seen fs.FileInfo) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return unlessMissing(err)
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	if now, err := os.Lstat(path); err != nil || !os.SameFile(now, seen) || now.ModTime() != seen.ModTime() {
		return unlessMissing(err)
	}
	return unlessMissing(os.Remove(path))
}

func unlessMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
