package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// tries is how often one source is asked before its failure counts. A transfer that brought at least a step
// further than any before it does not use one up.
const tries = 4

// Fetch gets every artifact that is not here yet, or is here and corrupt, several at once, mirrors first, and returns when all are here
// or one cannot be had. What was fetched in part is kept, and taken over by the next Fetch, unless it was wrong or
// the disk is full. Progress, if not nil, is called from one goroutine at a time.
//
// Plain http is as good as https here, since the digest decides what is accepted; but a source that was reviewed as
// https is not followed to plain http.
//
// Errors name the artifact, where it was asked for, what was expected and what was found: integrity_failed for wrong
// content, external_failed for sources and disks that do not work, interrupted when ctx ends.
func (c *Cache) Fetch(ctx context.Context, artifacts []lock.Artifact, progress func(Progress)) error {
	list := unique(artifacts)
	// The large ones first: they decide how long it takes.
	slices.SortStableFunc(list, func(a, b lock.Artifact) int { return cmp.Compare(b.Size, a.Size) })
	m := &meter{report: progress}
	for _, a := range list {
		m.total += a.Size
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, a := range list {
		count := m.counter(a.Name, a.Size)
		group.Go(func() error {
			if a.IsImage() {
				return c.fetchImage(ctx, a, count)
			}
			return c.fetchFile(ctx, a, count)
		})
	}
	return group.Wait()
}

func (c *Cache) fetchFile(ctx context.Context, a lock.Artifact, count *counter) error {
	d, err := lock.ParseDigest(a.Digest)
	if err != nil {
		return fault.New(fault.InvalidInput, "artifact %s: %w", a.Name, err)
	}
	src, err := c.sourceOf(a)
	if err != nil {
		return err
	}
	return c.get(ctx, &object{name: a.Name, digest: d, size: a.Size, sources: append(c.mirrorsOf(d), src), count: count})
}

// get gets one object unless it is here.
func (c *Cache) get(ctx context.Context, o *object) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return interrupted(ctx, o.name)
	}
	var p *partial
	for p == nil { // without an error, another process has got it while we waited for its lock: look again
		done, err := c.alreadyHere(ctx, o)
		if done || err != nil {
			return err
		}
		if p, err = c.lockPartial(ctx, o.digest, false); err != nil {
			return o.local(ctx, err)
		}
	}
	defer p.release()
	if err := c.fill(ctx, p, o); err != nil {
		return err
	}
	if err := p.publish(); err != nil {
		p.remove()
		return o.local(ctx, err)
	}
	return nil
}

// alreadyHere tells whether the object is in the cache, whole: it is read to its end. A corrupt one goes, to be got anew
// here and not by the command after the one that it breaks. One that is sound and of another size than wanted shows that
// the size wanted is wrong.
func (c *Cache) alreadyHere(ctx context.Context, o *object) (bool, error) {
	size := c.sizeOf(o.digest.String())
	if size < 0 {
		return false, nil
	}
	f, err := c.Open(ctx, o.digest.String())
	if err != nil {
		if fault.CodeOf(err) == fault.IntegrityFailed {
			return false, nil // moved aside: get it anew
		}
		return false, err
	}
	f.Close()
	if o.size >= 0 && size != o.size {
		return false, fault.New(fault.IntegrityFailed, "artifact %s: expected %d bytes, found %d with the digest %s", o.name, o.size, size, o.digest).
			Hint("correct the size of %s in %s", o.name, lock.FileName)
	}
	o.count.add(size)
	return true, nil
}

// fill brings the partial file to the whole, verified content.
func (c *Cache) fill(ctx context.Context, p *partial, o *object) error {
	if err := p.resume(ctx); err != nil {
		return o.local(ctx, readFault(ctx, o.digest, err))
	}
	o.count.add(p.size)
	var failed []string
	var last error
	for _, s := range o.sources {
		err := c.from(ctx, p, o, s)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return interrupted(ctx, o.name)
		case isLocal(err):
			p.remove() // room for something else, if it was the room that was missing
			return o.local(ctx, err)
		case isMissing(err) && s != o.sources[len(o.sources)-1]:
			continue // a mirror need not have everything
		}
		last = err
		failed = append(failed, fmt.Sprintf("%s: %s", s.shown(), scrub(err.Error())))
	}
	return o.fault(strings.Join(failed, "; "), last)
}

// local is the error of an object that failed for a reason of our own machine.
func (o *object) local(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return interrupted(ctx, o.name)
	}
	return fault.New(fault.CodeOf(err), "artifact %s: %w", o.name, err).Hint("%s", fault.HintOf(err))
}

// fault is the error of an object that no source had.
func (o *object) fault(text string, last error) error {
	if wrong, ok := errors.AsType[*sourceError](last); ok {
		return fault.New(fault.IntegrityFailed, "artifact %s: %s", o.name, text).
			Hint("do not use that file; check the url, size and digest of %s in %s", o.name, lock.FileName).
			Detail("artifact", o.name).Detail("expected", wrong.expected).Detail("found", wrong.found)
	}
	hint := fmt.Sprintf("check the network and the url of %s in %s, then run the command again", o.name, lock.FileName)
	if errors.Is(last, syscall.ECONNREFUSED) && isLoopback(o.sources[len(o.sources)-1]) {
		hint = "nothing serves it on this machine now: a lock that make box or make lab wrote is served only while they run; in the sources: make box"
	}
	return fault.New(fault.ExternalFailed, "artifact %s: %s (expected %s)", o.name, text, o.digest).
		Hint("%s", hint).
		Detail("artifact", o.name).Detail("expected", o.digest.String())
}

// isLoopback tells whether a source is a server on this machine.
func isLoopback(s source) bool {
	web, ok := s.(*httpSource)
	if !ok {
		return false
	}
	host := web.url.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// from asks one source until it has brought the content, or its failure is one that asking again will not change.
func (c *Cache) from(ctx context.Context, p *partial, o *object, s source) error {
	var etag string // of the content that is in the partial file so far, if this source brought it
	furthest := p.size
	for try := 1; ; try++ {
		err := c.transfer(ctx, p, o, s, &etag)
		if err == nil || ctx.Err() != nil || isLocal(err) || !again(err) {
			return err
		}
		if p.size >= furthest+step {
			try = 0
		}
		furthest = max(furthest, p.size)
		if try >= tries {
			return err
		}
		if errors.Is(err, errMoved) {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(c.backoff << max(try-1, 0)):
		}
	}
}
