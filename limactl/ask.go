package limactl

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// questionLimit is the timeout of one call of limactl that changes nothing.
const questionLimit = 20 * time.Second

// ask runs a limactl that changes nothing. Its timeout is questionLimit, or less if ctx has less patience left.
func (c *Client) ask(ctx context.Context, args ...string) (output, error) {
	p, _ := ctx.Value(patienceKey{}).(*patience)
	if p == nil {
		return c.run(ctx, questionLimit, nil, args...)
	}
	remaining, stuck := p.remaining()
	if remaining <= 0 {
		return output{}, &CommandError{Args: args, Status: -1, Err: fmt.Errorf("not asked, since %w", stuck), hint: c.CommandLine(args...)}
	}
	begin := time.Now()
	out, err := c.run(ctx, min(remaining, questionLimit), nil, args...)
	if errors.Is(err, ErrTimeout) {
		p.spend(time.Since(begin), err)
	}
	return out, err
}

// patience is how much longer a verb waits for limactls that do not answer.
type patience struct {
	mu    sync.Mutex
	time  time.Duration
	stuck error // of the last call that got no answer
}

type patienceKey struct{}

// WithPatience returns a context in which all calls of a limactl that does not answer wait at most limit together.
// After that they fail at once. Without it each call has a timeout of its own, and a verb makes several calls.
func WithPatience(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, &patience{time: limit})
}

func (p *patience) remaining() (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.time, p.stuck
}

func (p *patience) spend(d time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.time -= d
	p.stuck = err
}
