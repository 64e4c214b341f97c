package rehearsal

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// A disk that Lima formats loses its data at each boot if its label is too long for ext4.
func TestReformat(t *testing.T) {
	for name, kept := range map[string]bool{"demo-data": true, "elevenchars": true, "twelve-chars": false, "a-box-of-a-long-name-data": false} {
		home := t.TempDir()
		file := filepath.Join(diskDir(home, name), "files", "mine")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		reformat(home, name)
		if exists(file) != kept {
			t.Errorf("%s: kept is %v", name, !kept)
		}
	}
}

// Faults lists no fault twice, and each fault in it can be switched on and off.
func TestFaults(t *testing.T) {
	home, seen := t.TempDir(), map[Fault]bool{}
	for _, f := range Faults {
		if seen[f] {
			t.Errorf("%s is listed twice", f)
		}
		seen[f] = true
		if err := Inject(home, f); err != nil || !Has(home, f) {
			t.Errorf("%s: %v", f, err)
		}
		if err := Heal(home, f); err != nil || Has(home, f) {
			t.Errorf("%s: %v", f, err)
		}
	}
	source, err := os.ReadFile("fault.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^\t\w+ +Fault = "(.+)"`).FindAllStringSubmatch(string(source), -1)
	for _, d := range declared {
		if !seen[Fault(d[1])] {
			t.Errorf("%s is not listed", d[1])
		}
	}
	if len(declared) != len(seen) {
		t.Errorf("%d faults are declared, %d are listed", len(declared), len(seen))
	}
}
