package widget

import (
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Pace finds the ticker of this version of Bubble Tea. If Pace did not find it, a dashboard at rest would use as much
// CPU time as a busy one.
func TestPaceFindsTheTicker(t *testing.T) {
	if Pace(tea.NewProgram(nil)) == nil {
		t.Error("this version of Bubble Tea has its ticker elsewhere: see tui/widget/frames.go")
	}
}

// Frames are frequent while messages come, rare at rest, and frequent again with the first message.
func TestFramesAreRareAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := time.NewTicker(time.Second / FramesPerSecond)
		defer ticker.Stop()
		f := &Frames{ticker: func() *time.Ticker { return ticker }}
		ticks := func(d time.Duration) (n int) {
			for end := time.After(d); ; {
				select {
				case <-ticker.C:
					n++
				case <-end:
					return n
				}
			}
		}
		for range 5 { // messages keep it awake
			f.Wake()
			if n := ticks(restAfter / 2); n < 7 {
				t.Errorf("%d frames in %v of work", n, restAfter/2)
			}
		}
		ticks(restAfter)
		if n := ticks(10 * time.Second); n > 10 {
			t.Errorf("%d frames in ten seconds of rest", n)
		}
		time.Sleep(restAfter / 3)
		f.Wake()
		begun := time.Now()
		<-ticker.C
		if took := time.Since(begun); took > time.Second/FramesPerSecond {
			t.Errorf("the first frame after rest took %v", took)
		}
		ticks(2 * restAfter) // synctest waits for the timer to end
	})
}
