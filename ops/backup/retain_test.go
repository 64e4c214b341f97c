package backup

import (
	"slices"
	"testing"
)

// The next backup deletes exactly the backups that last for one more backup, and each of the others lasts for one less
// then.
func TestLasts(t *testing.T) {
	t.Parallel()
	for keep := range 4 {
		p, _ := newPool(t)
		list := func() []Envelope {
			all, err := p.listed()
			must(t, err)
			slices.Reverse(all)
			return all
		}
		for i, b := range []struct {
			disk string
			of   *forest
		}{{"old", first()}, {"old", odd()}, {"old", odd()}, {"new", first()}, {"new", odd()}, {"new", first()}, {"new", first()}, {"new", first()}} { // odd is partial
			before := Lasts(list(), keep, "new")
			save(t, p, b.of, Meta{Disk: b.disk}, nil, nil)
			if i < 5 { // the backups of the old box; a partial one lets older ones stay
				continue
			}
			deleted, err := p.Prune(t.Context(), keep)
			must(t, err)
			after := Lasts(list(), keep, "new")
			for id, n := range before {
				if gone := slices.Contains(deleted, id); gone != (n == 1) || !gone && after[id] != n-1 {
					t.Errorf("keep %d: %s lasted for %d backups; after one more: deleted %v, lasts for %d", keep, id, n, gone, after[id])
				}
			}
			for _, id := range deleted {
				if before[id] != 1 {
					t.Errorf("keep %d: %s was deleted, but lasted for %d backups", keep, id, before[id])
				}
			}
		}
	}
}
