package store

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Open tries to write to the directory and leaves no file behind, even if several calls run at once or an earlier
// process was killed.
func TestOpenLeavesNothingOfItsProbe(t *testing.T) {
	h := open(t)
	locks := filepath.Join(string(h), "locks")
	if err := os.WriteFile(filepath.Join(locks, ".writable"), nil, 0o600); err != nil { // left by a killed process
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := Open(string(h)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(locks); err != nil || len(left) != 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
}
