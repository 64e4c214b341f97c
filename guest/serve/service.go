package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	requestLimit = 10 * time.Second // for the first bytes of a connection
	endLimit     = 2 * time.Second  // for the calls in progress when the service ends
)

// Serve answers calls over a socket, one for each connection, until ctx ends. It answers the verbs that need no
// privilege; starting a process for each call would cost more than the answer. Only the user of this process and root
// can connect. If another program has replaced this one when a connection arrives, Serve ends with an error, because
// this program's answers would be out of date.
func (h Helper) Serve(ctx context.Context, socket string, stderr io.Writer) error {
	h.service, h.Root = true, false
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) { // left by a killed service
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := os.Chmod(socket, 0o600); err != nil {
		return err
	}
	var open sync.WaitGroup
	defer waitAtMost(&open, endLimit)
	ctx, end := context.WithCancel(ctx)
	defer end()
	context.AfterFunc(ctx, func() { l.Close() })
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		if h.Replaced != nil && h.Replaced() {
			conn.Close()
			return errors.New("another helper has replaced this one")
		}
		open.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			_ = conn.SetReadDeadline(time.Now().Add(requestLimit))
			h.channel(ctx, "", &firstRead{conn}, conn, stderr)
		})
	}
}

// waitAtMost waits for the end of all, but not longer than limit.
func waitAtMost(all *sync.WaitGroup, limit time.Duration) {
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(limit):
	}
}

// firstRead removes the deadline of a connection when the first bytes arrive.
type firstRead struct{ net.Conn }

func (r *firstRead) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if n > 0 {
		_ = r.Conn.SetReadDeadline(time.Time{})
	}
	return n, err
}
