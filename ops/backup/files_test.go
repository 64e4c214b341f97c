package backup

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// Files passes on all entries, or the selected ones, with their data, even if some of the data is not read.
func TestFiles(t *testing.T) {
	t.Parallel()
	p, _ := newPool(t)
	for name, f := range map[string]*forest{"odd": odd(), "large": large(), "many": many(500, 20_000)} {
		b := load(t, p, save(t, p, f, Meta{}, nil, nil).ID)
		for want, only := range map[string]func(*tree.Entry) bool{
			"all":   func(*tree.Entry) bool { return true },
			"some":  func(e *tree.Entry) bool { return strings.HasPrefix(string(e.Path), "d0003") || e.Size%3 == 1 },
			"none":  func(*tree.Entry) bool { return false },
			"large": func(e *tree.Entry) bool { return e.Size > 1<<20 && e.Size < 1<<30 },
		} {
			i := 0
			err := b.Files(t.Context(), only, func(e *tree.Entry, copy Copy) error {
				for !only(&f.files[i].Entry) {
					i++
				}
				have := f.files[i]
				i++
				if string(e.Path) != string(have.Path) || (copy != nil) != have.HasData() {
					t.Fatalf("%s, %s: %q comes where %q should", name, want, e.Path, have.Path)
				}
				if copy == nil || i%5 == 0 {
					return nil
				}
				var data bytes.Buffer
				if err := copy(&data); err != nil || !bytes.Equal(data.Bytes(), have.data) {
					t.Errorf("%s, %s: %q has %d bytes, %v", name, want, e.Path, data.Len(), err)
				}
				return nil
			})
			must(t, err)
			for ; i < len(f.files); i++ {
				if only(&f.files[i].Entry) {
					t.Errorf("%s, %s: %q is missing", name, want, f.files[i].Path)
				}
			}
		}
	}
}

// Files returns the error of a damaged chunk, of the writer, and of the function that it calls.
func TestFilesFail(t *testing.T) {
	t.Parallel()
	p, _ := newPool(t)
	b := load(t, p, save(t, p, many(10, 100), Meta{}, nil, nil).ID)
	all := func(*tree.Entry) bool { return true }
	broken := errors.New("broken")
	if err := b.Files(t.Context(), all, func(*tree.Entry, Copy) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	pr, pw := io.Pipe()
	pr.CloseWithError(broken)
	write := func(w io.Writer) func(*tree.Entry, Copy) error {
		return func(_ *tree.Entry, copy Copy) error {
			if copy == nil {
				return nil
			}
			return copy(w)
		}
	}
	if err := b.Files(t.Context(), all, write(pw)); !errors.Is(err, broken) {
		t.Error(err)
	}
	must(t, flip(p, chunkName(b.Chunks[0].ID), 300))
	if err := b.Files(t.Context(), all, write(io.Discard)); fault.CodeOf(err) != fault.IntegrityFailed {
		t.Error(err)
	}
	if _, err := b.Entry([]byte("d0000/f1")); err != nil {
		t.Error(err)
	}
	if _, err := b.Entry([]byte("nothing")); fault.CodeOf(err) != fault.NotFound {
		t.Error(err)
	}
}
