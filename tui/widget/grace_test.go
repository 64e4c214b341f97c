package widget

import (
	"testing"
	"time"
)

// A held key is ignored, but not for longer than quietLimit.
func TestHeldKeyIsIgnoredForALimitedTime(t *testing.T) {
	start := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	g := NewGrace(start)
	at := start
	for at.Sub(start) < quietLimit {
		at = at.Add(100 * time.Millisecond)
		if at.Sub(start) <= quietLimit && !g.Ignores(at) {
			t.Fatalf("a held key is accepted after %v", at.Sub(start))
		}
	}
	if g.Ignores(at.Add(100 * time.Millisecond)) {
		t.Error("a held key is still ignored after quietLimit")
	}
}

// After a pause no key is ignored, however fast the next ones are typed.
func TestGraceEndsWithAPause(t *testing.T) {
	at := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	g := NewGrace(at)
	for range 3 {
		if at = at.Add(Pause); g.Ignores(at) {
			t.Fatal("a key after a pause is ignored")
		}
		if at = at.Add(10 * time.Millisecond); g.Ignores(at) {
			t.Fatal("a key typed soon after that one is ignored")
		}
	}
}
