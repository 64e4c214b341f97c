package layout

import "strings"

// ValidName reports whether a version or an id may be an element of a path.
func ValidName(name string) bool {
	if name == "" || len(name) > 240 || name[0] == '.' || name[0] == '-' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") == ""
}
