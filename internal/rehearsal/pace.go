package rehearsal

import (
	"context"
	"io"
	"os"
	"strconv"
	"time"
)

// PaceVariable names the variable with the factor for pauses: 1 is slow enough to watch; with 0 or "" there are no
// pauses.
const PaceVariable = "HERMES_BOX_DEMO_PACE"

// Pause waits for the usual time, multiplied by the factor in PaceVariable. It returns early when ctx ends.
func Pause(ctx context.Context, usual time.Duration) {
	factor, err := strconv.ParseFloat(os.Getenv(PaceVariable), 64)
	if err != nil || factor <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(factor * float64(usual))):
	}
}

// often returns the interval for polling something that last changed at moved: short after a change, later long, to
// save CPU time.
func often(moved time.Time) time.Duration {
	if time.Since(moved) < 10*time.Second {
		return 20 * time.Millisecond
	}
	return 250 * time.Millisecond
}

// wire is a reader that is as slow as a connection to a guest.
type wire struct{ io.Reader }

// perChunk is the time that 32 KiB take.
const perChunk = 16 * time.Millisecond

func (w wire) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p[:min(len(p), 32<<10)])
	Pause(context.Background(), perChunk*time.Duration(n)/(32<<10))
	return n, err
}
