package ssh

import (
	"context"
	"errors"
	"io"
	"time"
)

// hedge is the time after which a connection without the shared master is tried too.
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

// connect dials over the ssh master that Lima's host agent uses. If there is no answer in two seconds, or the
// connection is lost, it also dials without the master. If the second connection answers while the first does not, the
// master hangs, as it does after the host has slept, and connect drops it. connect returns one connection, over which
// the caller sends its request, so a request runs once. But each dial sends early, so early may run twice.
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
