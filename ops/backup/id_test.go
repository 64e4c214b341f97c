package backup

import (
	"testing"
	"time"
)

// A new id has no dash at its end; ids with one, which earlier versions wrote, are accepted.
func TestIDs(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	for id, label := range map[string]string{newID(at, ""): "", "20260401T120000Z-": "", newID(at, "a-b"): "a-b"} {
		if got, l, err := ParseID(id); err != nil || !got.Equal(at) || l != label {
			t.Errorf("%s: %v %q %v", id, got, l, err)
		}
	}
	if id := newID(at, ""); id != "20260401T120000Z" {
		t.Error(id)
	}
	for _, id := range []string{"", "20260401T120000Z-A", "20260401T120000Zx", "20260401T120000Z/", "20260401T120000Z-a.b", "20261301T120000Z"} {
		if _, _, err := ParseID(id); err == nil {
			t.Errorf("%q passes", id)
		}
	}
}
