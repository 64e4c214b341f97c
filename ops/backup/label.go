package backup

import "fmt"

// CheckLabel returns an error unless the label matches [a-z0-9-]{0,32}.
func CheckLabel(label string) error {
	if _, _, err := ParseID("20060102T150405Z-" + label); err != nil {
		return fmt.Errorf("label %q: at most 32 lower-case letters, digits and dashes", label)
	}
	return nil
}
