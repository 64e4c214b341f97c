package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// source is a place from which an object may be read.
type source interface {
	// open asks for the content from offset on. etag, if not empty, is the tag of the content that the first offset
	// bytes came from.
	open(ctx context.Context, offset int64, etag string) (*body, error)
	shown() string
}

// body is the answer of a source.
type body struct {
	io.ReadCloser
	start int64  // the offset it begins at; -1 if it cannot be used
	size  int64  // of the whole object; -1 if the source does not say
	etag  string // strong tag, if any
}

// sourceOf returns the source that the lock names for an artifact.
func (c *Cache) sourceOf(a lock.Artifact) (source, error) {
	u, err := url.Parse(a.URL)
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "artifact %s: its url cannot be read", a.Name).
			Hint("correct the url of %s in %s", a.Name, lock.FileName)
	}
	switch {
	case u.Scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path):
		return &fileSource{u.Path}, nil
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return &httpSource{url: u, client: c.client}, nil
	}
	return nil, fault.New(fault.InvalidInput, "artifact %s: %s is not a URL with http, https, file or oci", a.Name, shown(u)).
		Hint("correct the url of %s in %s", a.Name, lock.FileName)
}

// mirrorsOf returns the sources of an object on the mirrors.
func (c *Cache) mirrorsOf(d lock.Digest) []source {
	var list []source
	for _, m := range c.mirrors {
		u, err := url.Parse(m)
		switch {
		case err == nil && (u.Scheme == "http" || u.Scheme == "https"):
			list = append(list, &httpSource{url: u.JoinPath(d.Algo, d.Hex), client: c.client})
		case err == nil && u.Scheme == "file":
			list = append(list, &fileSource{filepath.Join(u.Path, d.Algo, d.Hex)})
		default:
			list = append(list, &fileSource{filepath.Join(m, d.Algo, d.Hex)})
		}
	}
	return list
}

// fileSource is a file on this machine.
type fileSource struct{ path string }

func (s *fileSource) shown() string { return s.path }

func (s *fileSource) open(_ context.Context, offset int64, _ string) (*body, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: "it", Err: errors.Unwrap(err)}
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: "it", Err: errors.New("not a regular file")}
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: "it", Err: errors.Unwrap(err)}
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return &body{f, offset, info.Size(), ""}, nil
}

// httpSource is a URL.
type httpSource struct {
	url    *url.URL
	client *http.Client
	accept string
}

func (s *httpSource) shown() string { return shown(s.url) }

var contentRange = regexp.MustCompile(`^bytes (\d+)-\d+/(\d+|\*)$`)

func (s *httpSource) open(ctx context.Context, offset int64, etag string) (*body, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return nil, err
	}
	// Compressed bytes would have another digest.
	req.Header.Set("Accept-Encoding", "identity")
	if s.accept != "" {
		req.Header.Set("Accept", s.accept)
	}
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		if etag != "" {
			req.Header.Set("If-Range", etag)
		}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		// url.Error repeats the whole URL.
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return nil, err
	}
	b := &body{ReadCloser: resp.Body, size: -1}
	if tag := resp.Header.Get("ETag"); !strings.HasPrefix(tag, "W/") {
		b.etag = tag
	}
	switch resp.StatusCode {
	case http.StatusOK:
		b.size = resp.ContentLength
		return b, nil
	case http.StatusPartialContent:
		if m := contentRange.FindStringSubmatch(resp.Header.Get("Content-Range")); m != nil && offset > 0 {
			b.start, err = strconv.ParseInt(m[1], 10, 64)
			if size, bad := strconv.ParseInt(m[2], 10, 64); bad == nil {
				b.size = size
			}
			if err == nil {
				return b, nil
			}
		}
		b.start = -1 // unusable: start over
		return b, nil
	case http.StatusRequestedRangeNotSatisfiable:
		b.start = -1
		return b, nil
	}
	resp.Body.Close()
	return nil, statusError(resp.StatusCode)
}

// newClient returns a copy of base that refuses redirects from https to plain http. If base is nil, the client uses the
// proxies of the environment.
func newClient(base *http.Client) *http.Client {
	var client http.Client
	if base != nil {
		client = *base
	}
	if client.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression = true
		client.Transport = t
	}
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https" {
			return errRedirect
		}
		if len(via) >= 10 {
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
	return &client
}
