package ssh

import (
	"context"
	"errors"
	"io"
	"time"
)

// hedge is the time that the shared connection has to answer before a connection without it is tried too.
const hedge = 2 * time.Second

// direct holds the options of a connection that does not use the shared master.
var direct = []string{"-o", "ControlMaster=no", "-o", "ControlPath=none"}

// attempt is a dial that is in progress.
type attempt struct {
	done   chan dialled
	cancel context.CancelFunc
}

type dialled struct {
	k   *conn
	err error
}

// drop abandons an attempt.
func (a *attempt) drop() {
	a.cancel()
	if d := <-a.done; d.k != nil {
		d.k.close()
	}
}

// connect dials over the ssh master that Lima's host agent uses. If there is no answer in two seconds, it also dials
// without the master. If that one answers first, the master hangs, as it does after the host has slept, and is
// replaced. A request cannot run twice, because it is sent over one connection only; except early, which dial sends
// without waiting.
func (c *Client) connect(ctx context.Context, instance, inside string, run remote, early []byte, stderr io.Writer) (*conn, error) {
	start := func(options ...string) *attempt {
		ctx, cancel := context.WithCancel(ctx)
		a := &attempt{done: make(chan dialled, 1), cancel: cancel}
		go func() {
			k, err := c.dial(ctx, instance, inside, run, early, stderr, options...)
			if err != nil {
				cancel()
			} else {
				k.release = cancel
			}
			a.done <- dialled{k, err}
		}()
		return a
	}
	shared := start()
	sharedDone := shared.done
	var failed error
	if _, there := c.control(instance); !there {
		d := <-sharedDone
		return d.k, d.err
	}
	select {
	case d := <-sharedDone:
		var lost *TransportError
		if !errors.As(d.err, &lost) || lost.status != Lost || ctx.Err() != nil {
			return d.k, d.err
		}
		sharedDone, failed = nil, d.err
	case <-time.After(hedge):
	}
	own := start(direct...)
	for ownDone := own.done; ; {
		select {
		case d := <-sharedDone:
			if d.err == nil {
				go own.drop()
				return d.k, nil
			}
			sharedDone, failed = nil, d.err
		case d := <-ownDone:
			if d.err == nil {
				if sharedDone != nil {
					c.dropMaster(ctx, instance)
					go shared.drop()
				}
				return d.k, nil
			}
			ownDone = nil
		}
		if sharedDone == nil && ownDone == nil {
			return nil, failed
		}
	}
}
