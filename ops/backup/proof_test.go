package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/iotest"

	"hermes-box/ops/fault"
)

// A full disk, and a cancelled context, do not mark a backup as damaged.
func TestFullDiskIsNoDamage(t *testing.T) {
	p, _ := newPool(t)
	env := save(t, p, first(), Meta{Box: "main"}, nil, nil)
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) || fault.CodeOf(err) == fault.IntegrityFailed {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
		if list, err := List(p.disk.dir); err != nil || len(list) != 1 || !list[0].Good() {
			t.Errorf("%s: listed as %+v, %v", what, list, err)
		}
	}
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO} {
		for _, at := range []string{"create", "write", "mkdir"} {
			failed := false
			p.disk.before = func(op, path string) error {
				if op == at {
					failed = true
					return full
				}
				return nil
			}
			if at == "mkdir" {
				must(t, os.RemoveAll(p.disk.path("tmp")))
			}
			_, err := p.Verify(t.Context(), env.ID, nil)
			if p.disk.before = nil; !failed {
				t.Errorf("Verify did not call %s", at)
			}
			check(at, err, full)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Verify(ctx, env.ID, nil)
	check("cancel", err, context.Canceled)
}

// An error of the disk at any byte of a bundle or a chunk is returned as such.
func TestReadErrorIsNoDamage(t *testing.T) {
	p, _ := newPool(t)
	env := save(t, p, first(), Meta{Box: "main"}, nil, nil)
	b := load(t, p, env.ID)
	c, err := p.newCodec()
	must(t, err)
	defer c.close()
	for name, read := range map[string]func(in io.Reader, size int64) error{
		bundleName(env.ID): func(in io.Reader, _ int64) error {
			_, err := p.decodeBundle(in, env.ID, nil)
			return err
		},
		chunkName(b.Chunks[0].ID): func(in io.Reader, size int64) error {
			_, err := c.decode(b.Chunks[0].ID, in, size, nil)
			return err
		},
	} {
		data, err := os.ReadFile(p.disk.path(name))
		must(t, err)
		for n := range len(data) {
			in := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(&os.PathError{Op: "read", Path: name, Err: syscall.EIO}))
			if err := damaged(env.ID, read(in, int64(len(data)))); !errors.Is(err, syscall.EIO) || fault.CodeOf(err) == fault.IntegrityFailed {
				t.Fatalf("%s, after %d bytes: %v", name, n, err)
			}
		}
	}
}

// A chunk that is missing or is not a regular file makes the backup damaged.
func TestMissingChunkIsDamage(t *testing.T) {
	for name, then := range map[string]func(path string) error{
		"missing":   func(string) error { return nil },
		"a symlink": func(path string) error { return os.Symlink(path+".away", path) },
	} {
		p, _ := newPool(t)
		env := save(t, p, first(), Meta{Box: "main"}, nil, nil)
		path := p.disk.path(chunkName(load(t, p, env.ID).Chunks[0].ID))
		must(t, os.Rename(path, path+".away"))
		must(t, then(path))
		if _, err := p.Verify(t.Context(), env.ID, nil); fault.CodeOf(err) != fault.IntegrityFailed {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := List(p.disk.dir); err != nil || len(list) != 1 || list[0].Failed == "" {
			t.Errorf("%s: listed as %+v, %v", name, list, err)
		}
	}
}
