package artifact

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"time"

	"hermes-box/ops/lock"
)

// transfer appends one answer of a source to the partial file, and verifies the object once it is complete.
func (c *Cache) transfer(ctx context.Context, p *partial, o *object, s source, etag *string) error {
	if o.size < 0 || p.size > o.size {
		if err := o.reset(p); err != nil {
			return err
		}
	}
	if p.size != o.size {
		if err := c.receive(ctx, p, o, s, etag); err != nil {
			return err
		}
	}
	found := o.digest.Sum(p.hash)
	if found == o.digest {
		return nil
	}
	mixed := p.mixed
	if err := o.reset(p); err != nil {
		return err
	}
	if mixed { // the parts may be of different contents; start over with this source alone
		return errMoved
	}
	return &sourceError{o.digest.String(), found.String()}
}

// reset empties the partial file and takes its bytes off the count.
func (o *object) reset(p *partial) error {
	o.count.add(-p.size)
	return p.reset()
}

// receive appends one answer to the partial file. If the answer ends early, its bytes are kept.
func (c *Cache) receive(ctx context.Context, p *partial, o *object, s source, etag *string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := fmt.Errorf("%w for %s", errStalled, c.stall)
	watchdog := time.AfterFunc(c.stall, func() { cancel(stalled) })
	defer watchdog.Stop()
	why := func(err error) error {
		if context.Cause(ctx) == stalled {
			return stalled
		}
		return err
	}

	b, err := s.open(ctx, p.size, *etag)
	if err != nil {
		return why(err)
	}
	defer b.Close()
	if b.start != p.size {
		if err := o.reset(p); err != nil {
			return err
		}
		if b.start != 0 {
			return errMoved
		}
	}
	limit := o.size
	if limit < 0 {
		limit = maxManifest
	}
	if b.size > limit || (o.size >= 0 && b.size >= 0 && b.size != o.size) {
		if err := o.reset(p); err != nil {
			return err
		}
		return &sourceError{byteCount(o.size), byteCount(b.size)}
	}
	*etag, p.mixed = b.etag, p.size > 0

	buf := make([]byte, min(bufferSize, limit-p.size+1)) // one byte more, to detect a body that is too long
	for {
		n, err := readOnly{ctx, b}.Read(buf)
		if n > 0 {
			watchdog.Reset(c.stall)
			if p.size+int64(n) > limit {
				if err := o.reset(p); err != nil {
					return err
				}
				return &sourceError{byteCount(o.size), "more"}
			}
			if _, err := p.Write(buf[:n]); err != nil {
				return err
			}
			o.count.add(int64(n))
		}
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return why(err)
		case p.size < o.size || err != io.EOF:
			return fmt.Errorf("%w: expected %s, found %d", errTruncated, byteCount(o.size), p.size)
		default:
			return nil
		}
	}
}

func byteCount(n int64) string {
	if n < 0 {
		return fmt.Sprintf("at most %d bytes", maxManifest)
	}
	return fmt.Sprintf("%d bytes", n)
}

// isMissing reports whether a source does not have the object. Some servers answer 403 for that.
func isMissing(err error) bool {
	status, ok := errors.AsType[statusError](err)
	return errors.Is(err, fs.ErrNotExist) || ok && (status == http.StatusNotFound || status == http.StatusForbidden || status == http.StatusGone)
}

// again reports whether another try with the same source may succeed.
func again(err error) bool {
	if status, ok := errors.AsType[statusError](err); ok {
		return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return !dns.IsNotFound
	}
	_, wrong := errors.AsType[*sourceError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, file := errors.AsType[*fs.PathError](err)
	return !wrong && !untrusted && !file && !errors.Is(err, errRedirect)
}

// object is one object to download.
type object struct {
	name    string // of the artifact it belongs to
	digest  lock.Digest
	size    int64 // -1: not known, but at most maxManifest
	sources []source
	count   *counter
}
