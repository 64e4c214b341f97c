package object

import (
	"archive/tar"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// maxObject is the size in bytes of the largest object that Receive accepts.
const maxObject = 4 << 30

// Receive stores the objects of a tar, as protocol.Received describes. It skips an object that is stored already. If
// it fails, the objects stored so far stay.
func (s Store) Receive(ctx context.Context, r io.Reader) (protocol.Received, error) {
	var got protocol.Received
	unlock, err := s.Lock(ctx, layout.ReceiveMutex)
	if err != nil {
		return got, err
	}
	defer unlock()
	tr := tar.NewReader(reader{ctx, r})
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, broken(ctx, "the artifacts", err)
		}
		if h.Typeflag != tar.TypeReg {
			return got, &protocol.Error{Code: "invalid_input", Message: fmt.Sprintf("object %q is not a regular file", h.Name)}
		}
		if h.Size < 0 || h.Size > maxObject {
			return got, &protocol.Error{Code: "invalid_input", Message: fmt.Sprintf("object %q has %d bytes; at most %d are accepted", h.Name, h.Size, int64(maxObject))}
		}
		if err := s.store(ctx, h.Name, tr); err != nil {
			return got, err
		}
		got.Objects++
		got.Bytes += h.Size
	}
}

func (s Store) store(ctx context.Context, name string, r io.Reader) error {
	digest, err := digestOf(name)
	if err != nil {
		return err
	}
	final := s.Path(layout.Objects, name)
	if _, err := os.Lstat(final); err == nil {
		_, err := io.Copy(io.Discard, r)
		return err
	}
	if err := os.MkdirAll(path.Dir(final), 0o755); err != nil {
		return err
	}
	h, err := newHash(path.Dir(name))
	if err != nil {
		return err
	}
	beside := final + ".part"
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(f, h), r)
	if err != nil {
		err = broken(ctx, digest, err)
	} else if hex.EncodeToString(h.Sum(nil)) != path.Base(name) {
		err = &protocol.Error{Code: "integrity_failed", Message: fmt.Sprintf("the data received for %s does not have this digest", digest),
			Hint: "run the command again; if it fails again, check the artifact cache: hermes-box doctor"}
	} else {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	s.Did("receive " + path.Base(beside))
	return s.Rename(beside, final)
}

// broken returns the error for a stream that could not be read, or an object that could not be stored.
func broken(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) {
		return &protocol.Error{Code: "external_failed", Message: fmt.Sprintf("the data received for %s is incomplete: %v", what, err),
			Hint: "run the command again"}
	}
	return fmt.Errorf("receive %s: %w", what, err)
}
