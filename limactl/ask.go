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

// ask runs a limactl that changes nothing. Its timeout is questionLimit, or the rest of the patience in ctx if that is
// shorter.
func (c *Client) ask(ctx context.Context, args ...string) (output, error) {
	p, _ := ctx.Value(patienceKey{}).(*patience)
	if p == nil {
		return c.run(ctx, questionLimit, nil, args...)
	}
	remaining, stuck := p.remaining()
	if remaining <= 0 {
		return output{}, &CommandError{Args: args, Status: -1, Err: fmt.Errorf("not run, because %w", stuck), hint: c.CommandLine(args...)}
	}
	begin := time.Now()
	out, err := c.run(ctx, min(remaining, questionLimit), nil, args...)
	if errors.Is(err, ErrTimeout) {
		p.spend(time.Since(begin), err)
	}
	return out, err
}

// patience is the time that a verb may still wait for a limactl that does not answer.
type patience struct {
	mu    sync.Mutex
	time  time.Duration
	stuck error // error of the last call that got no answer
}

type patienceKey struct{}

// WithPatience returns a context that limits how long calls that change nothing wait for a limactl that does not
// answer. The limit is for all of them together; when it is used up, they fail at once. Without WithPatience each call
// has its own timeout, and a verb makes several calls.
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
