package ops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// After a drill the newest ten reports of the box are left. Other files stay, whatever they are.
func TestOldReportsAreRemoved(t *testing.T) {
	b := withBackup(t)
	if err := os.MkdirAll(b.drills(), 0o700); err != nil {
		t.Fatal(err)
	}
	others := []string{"20200101T000000Z-notes.json", "20200101T000000Z-box.txt", "20209901T000000Z-box.json", "box.json", "20200101-box.json"}
	var old []string
	for i := range 14 {
		old = append(old, fmt.Sprintf("202001%02dT000000Z-%s.json", i+1, []string{"files", "box"}[i%2]))
	}
	for _, name := range append(slices.Clone(others), old...) {
		if err := os.WriteFile(filepath.Join(b.drills(), name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	done, err := b.DrillFiles(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := append(append(slices.Clone(others), old[len(old)-keptReports+1:]...), filepath.Base(done.Report))
	slices.Sort(want)
	if got := namesIn(t, b.drills()); !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
}
