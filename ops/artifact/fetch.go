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

// tries is the number of tries with one source. The count starts again after a transfer that got at least step bytes
// further than all before it.
const tries = 4

// Fetch downloads every artifact that is missing or corrupt, several at once, mirrors first. It returns when all are
// in the cache, or when one cannot be downloaded. Partial downloads are kept and continued by the next Fetch, unless
// the content was wrong or the disk is full. Progress, if not nil, is called from one goroutine at a time.
//
// Plain http is as good as https here, since the digest decides what is accepted; but a redirect from https to plain
// http is refused.
//
// Errors name the artifact: integrity_failed for wrong content, external_failed for sources and disks that do not work,
// invalid_input for an unusable url or digest in the lock, interrupted when ctx ends.
func (c *Cache) Fetch(ctx context.Context, artifacts []lock.Artifact, progress func(Progress)) error {
	list := unique(artifacts)
	// Fetch the largest first, since they take longest.
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

// get downloads one object unless it is in the cache.
func (c *Cache) get(ctx context.Context, o *object) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return interrupted(ctx, o.name)
	}
	var p *partial
	for p == nil { // nil without an error: another process downloaded it while we waited for its lock
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

// alreadyHere reports whether the object is in the cache, and verifies it in full. A corrupt object is moved aside, so
// that it is downloaded again at once. If the digest is right but the size is not, the size in the lock is wrong,
// which is an error.
func (c *Cache) alreadyHere(ctx context.Context, o *object) (bool, error) {
	size := c.sizeOf(o.digest.String())
	if size < 0 {
		return false, nil
	}
	f, err := c.Open(ctx, o.digest.String())
	if err != nil {
		if fault.CodeOf(err) == fault.IntegrityFailed {
			return false, nil // moved aside: download it again
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

// fill completes the partial file and verifies it.
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
			p.remove() // frees the space, if the disk was full
			return o.local(ctx, err)
		case isMissing(err) && s != o.sources[len(o.sources)-1]:
			continue // a mirror may lack objects
		}
		last = err
		failed = append(failed, fmt.Sprintf("%s: %s", s.shown(), scrub(err.Error())))
	}
	return o.fault(strings.Join(failed, "; "), last)
}

// local returns the error for an object that could not be fetched because of this machine.
func (o *object) local(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return interrupted(ctx, o.name)
	}
	return fault.New(fault.CodeOf(err), "artifact %s: %w", o.name, err).Hint("%s", fault.HintOf(err))
}

// fault returns the error for an object that no source could deliver.
func (o *object) fault(text string, last error) error {
	if wrong, ok := errors.AsType[*sourceError](last); ok {
		return fault.New(fault.IntegrityFailed, "artifact %s: %s", o.name, text).
			Hint("do not use that file; check the url, size and digest of %s in %s", o.name, lock.FileName).
			Detail("artifact", o.name).Detail("expected", wrong.expected).Detail("found", wrong.found)
	}
	hint := fmt.Sprintf("check the network and the url of %s in %s, then run the command again", o.name, lock.FileName)
	if errors.Is(last, syscall.ECONNREFUSED) && isLoopback(o.sources[len(o.sources)-1]) {
		hint = "the url is on this machine, and its server runs only while make box or make lab runs; to start it again, in the directory of the sources: make box"
	}
	return fault.New(fault.ExternalFailed, "artifact %s: %s (expected %s)", o.name, text, o.digest).
		Hint("%s", hint).
		Detail("artifact", o.name).Detail("expected", o.digest.String())
}

// isLoopback reports whether a source is a server on this machine.
func isLoopback(s source) bool {
	web, ok := s.(*httpSource)
	if !ok {
		return false
	}
	host := web.url.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// from downloads the object from one source. It tries again after failures that another try may overcome.
func (c *Cache) from(ctx context.Context, p *partial, o *object, s source) error {
	var etag string // of the content in the partial file, if this source sent it
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
