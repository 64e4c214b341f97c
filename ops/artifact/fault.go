package artifact

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"syscall"

	"hermes-box/ops/fault"
)

// The ways a source fails that decide what is done next.
var (
	errTruncated = errors.New("the transfer ended early") // worth another try, from where it ended
	errStalled   = errors.New("no bytes arrived")         // likewise
	errRedirect  = errors.New("refused a redirect from https to plain http")
	errMoved     = errors.New("the parts of the transfer do not fit together") // begin anew
)

// statusError is an HTTP answer that is not the object.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("server answered status %d", int(s)) }

// sourceError is content that is wrong: trying the same source again would bring the same.
type sourceError struct{ expected, found string }

func (e *sourceError) Error() string { return "expected " + e.expected + ", found " + e.found }

// writeFault is a failure of the disk that holds the cache.
func writeFault(dir string, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.New(fault.ExternalFailed, "no space left in the artifact cache %s: %w", dir, err).
			Hint("free some space there (df -h %s) and run the command again", dir)
	}
	return fault.New(fault.ExternalFailed, "write to the artifact cache %s: %w", dir, err).
		Hint("make %s writable and run the command again", dir)
}

// isLocal tells whether the failure is ours and no other source would help.
func isLocal(err error) bool {
	var f *fault.Error
	return errors.As(err, &f)
}

func interrupted(ctx context.Context, name string) error {
	return fault.New(fault.Interrupted, "artifact %s: interrupted: %w", name, context.Cause(ctx)).
		Hint("run the command again; it goes on where it stopped")
}

// shown is a URL as errors may tell it: without credentials and without a query, which may hold a signature.
func shown(u *url.URL) string {
	bare := *u
	bare.User, bare.RawQuery, bare.ForceQuery, bare.Fragment = nil, "", false, ""
	return bare.String()
}

var (
	anyQuery    = regexp.MustCompile(`([a-z]+://[^\s"?]*)\?[^\s"]*`)
	anyUserinfo = regexp.MustCompile(`([a-z]+://)[^\s"/@]*@`)
)

// scrub takes credentials and queries out of the text of an error that a library made.
func scrub(text string) string {
	return anyUserinfo.ReplaceAllString(anyQuery.ReplaceAllString(text, "$1"), "$1")
}
