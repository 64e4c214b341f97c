package widget

import (
	"reflect"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// FramesPerSecond is how often Bubble Tea looks for something to draw: a key is seen within 17 ms, and what it takes
	// to draw.
	FramesPerSecond = 60
	// atRest is how often it looks when nothing has happened for restAfter.
	atRest, restAfter = time.Second, 250 * time.Millisecond
)

// Frames has Bubble Tea look for something to draw often while messages come, and seldom otherwise. Of itself it looks
// at one rate for as long as the program runs, and a dashboard that is left open for days would wake the processor
// sixty times a second for nothing.
type Frames struct {
	ticker func() *time.Ticker

	mu    sync.Mutex
	awake bool
	until time.Time
	rest  *time.Timer
}

// Pace takes over the ticker of a program; nil where this version of Bubble Tea keeps it elsewhere. There is no other
// way to it than its private field: a test tells when that moves.
func Pace(p *tea.Program) *Frames {
	field := reflect.ValueOf(p).Elem().FieldByName("ticker")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*time.Ticker]() {
		return nil
	}
	ticker := (**time.Ticker)(field.Addr().UnsafePointer())
	return &Frames{ticker: func() *time.Ticker { return *ticker }}
}

// Wake is called from Update, where something may have changed.
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

// relax ends being awake, once nothing has happened for long enough.
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
