package component

import (
	"os"
	"path/filepath"
)

// IsProgram reports whether the path is an executable file. It follows links.
func IsProgram(elem ...string) bool {
	info, err := os.Stat(filepath.Join(elem...))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// isFile reports whether the path is a regular file. It follows links.
func isFile(elem ...string) bool {
	info, err := os.Stat(filepath.Join(elem...))
	return err == nil && info.Mode().IsRegular()
}

// moveChildren moves everything in one directory into another one and removes the empty directory.
func moveChildren(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(from)
}
