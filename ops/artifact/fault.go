package artifact

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"syscall"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/ops/fault"
)

// Failures of a source that decide what happens next.
var (
	errTruncated = errors.New("the transfer ended early") // try again from where it ended
	errStalled   = errors.New("no bytes arrived")         // likewise
	errRedirect  = errors.New("refused a redirect from https to plain http")
	errMoved     = errors.New("the parts of the transfer do not fit together") // start over
)

// statusError is the error for an HTTP status without usable content.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("server answered status %d", int(s)) }

// sourceError is the error for wrong content. Another try would get the same content from that source.
type sourceError struct{ expected, found string }

func (e *sourceError) Error() string { return "expected " + e.expected + ", found " + e.found }

// writeFault returns the error for a failure of the disk that holds the cache.
func writeFault(dir string, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.New(fault.ExternalFailed, "no space left in the artifact cache %s: %w", dir, err).
			Hint("free some space there and run the command again: df -h %s", shellescape.Quote(dir))
	}
	return fault.New(fault.ExternalFailed, "write to the artifact cache %s: %w", dir, err).
		Hint("make it writable and run the command again: chmod u+rwx %s", shellescape.Quote(dir))
}

// isLocal reports whether this machine failed rather than a source, so that another source would not help.
func isLocal(err error) bool {
	var f *fault.Error
	return errors.As(err, &f)
}

func interrupted(ctx context.Context, name string) error {
	return fault.New(fault.Interrupted, "artifact %s: interrupted: %w", name, context.Cause(ctx)).
		Hint("run the command again; it continues where it stopped")
}

// shown returns a URL for error messages: without credentials and without a query, which may hold a signature.
func shown(u *url.URL) string {
	bare := *u
	bare.User, bare.RawQuery, bare.ForceQuery, bare.Fragment = nil, "", false, ""
	return bare.String()
}

var (
	anyQuery    = regexp.MustCompile(`([a-z]+://[^\s"?]*)\?[^\s"]*`)
	anyUserinfo = regexp.MustCompile(`([a-z]+://)[^\s"/@]*@`)
)

// scrub removes credentials and queries from the error message of a library.
func scrub(text string) string {
	return anyUserinfo.ReplaceAllString(anyQuery.ReplaceAllString(text, "$1"), "$1")
}
