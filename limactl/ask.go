package limactl

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// questionLimit bounds one call of limactl that changes nothing.
const questionLimit = 20 * time.Second

// ask runs a limactl that changes nothing. It is bounded by questionLimit, and by the patience of ctx.
func (c *Client) ask(ctx context.Context, args ...string) (output, error) {
	p, _ := ctx.Value(patienceKey{}).(*patience)
	if p == nil {
		return c.run(ctx, questionLimit, nil, args...)
	}
	left, stuck := p.left()
	if left <= 0 {
		return output{}, &CommandError{Args: args, Status: -1, Err: fmt.Errorf("not asked, since %w", stuck), hint: c.CommandLine(args...)}
	}
	begin := time.Now()
	out, err := c.run(ctx, min(left, questionLimit), nil, args...)
	if errors.Is(err, ErrTimeout) {
		p.spend(time.Since(begin), err)
	}
	return out, err
}

// patience is how much longer a verb waits for limactls that do not answer.
type patience struct {
	mu    sync.Mutex
	time  time.Duration
	stuck error // the last that did not answer
}

type patienceKey struct{}

// WithPatience returns a context in which all questions to limactl together wait at most limit for one that does not
// answer. After that they fail at once. A verb asks several times; without this each question has its own bound.
func WithPatience(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, &patience{time: limit})
}

func (p *patience) left() (time.Duration, error) {
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
