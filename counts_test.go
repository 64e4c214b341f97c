package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A fixed plural after %d would print "1 files", so no format string has one, except after "more than %d". spell.Count
// chooses singular or plural.
func TestCountsHaveASingular(t *testing.T) {
	plural := regexp.MustCompile(`"[^"\n]*%d (files|entries|chunks|backups|lines|steps|components|differences|places|warnings|checks|boxes|ports)\b`)
	seen := 0
	for _, dir := range []string{"cli", "tui", "ops", "limactl", "guest", "internal"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			seen++
			for _, found := range plural.FindAllString(string(text), -1) {
				if !strings.Contains(found, "more than %d") { // a limit
					t.Errorf("%s: %s", path, found)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 100 {
		t.Errorf("only %d files were read", seen)
	}
}
