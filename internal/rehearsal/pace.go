package rehearsal

import (
	"context"
	"io"
	"os"
	"strconv"
	"time"
)

// PaceVariable is a factor for the time that things take: 1 is slow enough to watch, 0 or nothing is none at all.
const PaceVariable = "HERMES_BOX_DEMO_PACE"

// Pause takes as long as something usually does, by the pace of this process. It returns early when ctx ends.
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

// often is how long to wait until one looks again whether something has moved: not long when it just has, and with next
// to no work for the processor when nothing does.
func often(moved time.Time) time.Duration {
	if time.Since(moved) < 10*time.Second {
		return 20 * time.Millisecond
	}
	return 250 * time.Millisecond
}

// wire is a reader at the speed of a connection to a guest.
type wire struct{ io.Reader }

// perChunk is how long 32 KiB are under way.
const perChunk = 16 * time.Millisecond

func (w wire) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p[:min(len(p), 32<<10)])
	Pause(context.Background(), perChunk*time.Duration(n)/(32<<10))
	return n, err
}
