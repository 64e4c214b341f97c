package store

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Of the try whether the directory can be written nothing stays: not of many at once, and not of one that was killed.
func TestOpenLeavesNothingOfItsProbe(t *testing.T) {
	h := open(t)
	locks := filepath.Join(string(h), "locks")
	if err := os.WriteFile(filepath.Join(locks, ".writable"), nil, 0o600); err != nil { // by a killed one
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
		t.Errorf("left: %v, %v", left, err)
	}
}
