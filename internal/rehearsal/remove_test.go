package rehearsal

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// removeAll removes a directory while programs still write to it.
func TestRemoveAllDuringWrites(t *testing.T) {
	for round := range 10 {
		dir := filepath.Join(t.TempDir(), "guest")
		if err := os.MkdirAll(filepath.Join(dir, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		var writers sync.WaitGroup
		begun := make(chan struct{}, 4)
		for w := range 4 {
			writers.Go(func() {
				for i := range 2000 {
					_ = os.WriteFile(filepath.Join(dir, "etc", fmt.Sprint(w, "-", i)), nil, 0o600)
					if i == 20 {
						begun <- struct{}{}
					}
				}
			})
		}
		<-begun
		if err := removeAll(dir); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		writers.Wait()
	}
}
