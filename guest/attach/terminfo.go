package attach

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// systemTerminfo are the directories that ncurses searches after the user's own.
var systemTerminfo = []string{"/etc/terminfo", "/lib/terminfo", "/usr/lib/terminfo", "/usr/share/terminfo"}

// known reports whether ncurses finds a compiled entry for a terminal.
func known(name string) bool {
	if name == "" || strings.ContainsAny(name, "/\x00") || name == "." || name == ".." {
		return false
	}
	dirs := []string{os.Getenv("TERMINFO"), filepath.Join(os.Getenv("HOME"), ".terminfo")}
	dirs = append(append(dirs, filepath.SplitList(os.Getenv("TERMINFO_DIRS"))...), systemTerminfo...)
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		for _, sub := range []string{name[:1], fmt.Sprintf("%x", name[0])} { // the second is for file systems that ignore case
			if st, err := os.Stat(filepath.Join(dir, sub, name)); err == nil && st.Mode().IsRegular() {
				return true
			}
		}
	}
	return false
}
