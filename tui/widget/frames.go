package widget

import (
	"reflect"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// FramesPerSecond is the rate at which Bubble Tea checks for a new frame. The effect of a key is visible within 17
	// ms plus the time of drawing.
	FramesPerSecond = 60
	// atRest is the interval of these checks after restAfter without messages.
	atRest, restAfter = time.Second, 250 * time.Millisecond
)

// Frames makes Bubble Tea check for new frames often while messages come, and seldom otherwise. Without Frames, Bubble
// Tea checks at one rate for as long as the program runs: a dashboard that is left open for days would wake the
// processor sixty times a second for nothing.
type Frames struct {
	ticker func() *time.Ticker

	mu    sync.Mutex
	awake bool
	until time.Time
	rest  *time.Timer
}

// Pace takes over the ticker of a program. For that it uses a private field of the program. If this version of Bubble
// Tea has no such field, Pace returns nil, and a test fails.
func Pace(p *tea.Program) *Frames {
	field := reflect.ValueOf(p).Elem().FieldByName("ticker")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*time.Ticker]() {
		return nil
	}
	ticker := (**time.Ticker)(field.Addr().UnsafePointer())
	return &Frames{ticker: func() *time.Ticker { return *ticker }}
}

// Wake makes frames frequent. Update calls it, since each message may change the screen.
func (f *Frames) Wake() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ticker := f.ticker()
	if !f.awake {
		ticker.Reset(time.Second / FramesPerSecond)
	}
	f.awake, f.until = true, time.Now().Add(restAfter)
	if f.rest == nil {
		f.rest = time.AfterFunc(restAfter, func() { f.relax(ticker) })
	}
}

// relax makes frames rare after restAfter without messages.
func (f *Frames) relax(ticker *time.Ticker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if left := time.Until(f.until); left > 0 {
		f.rest.Reset(left)
		return
	}
	f.awake, f.rest = false, nil
	ticker.Reset(atRest)
}
