package artifact

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// untar reads a stream as the guest does. It returns the complete objects, their order, and the error that ended it.
func untar(r io.Reader) (map[string][]byte, []string, error) {
	whole, order := map[string][]byte{}, []string{}
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return whole, order, nil
		}
		if err != nil {
			return whole, order, err
		}
		if h.Typeflag != tar.TypeReg {
			return whole, order, errors.New("not a regular file: " + h.Name)
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return whole, order, err
		}
		whole[h.Name] = data
		order = append(order, h.Name)
	}
}

// filled returns a cache with three objects: of one byte, of one buffer, and of more than two. One has a sha512 digest.
func filled(t testing.TB) (*Cache, []lock.Artifact, map[string][]byte) {
	t.Helper()
	c := newCache(t, Options{})
	var list []lock.Artifact
	want := map[string][]byte{}
	for i, n := range []int{1, bufferSize, 2*bufferSize + 3} {
		data := content(uint64(i), n)
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		a := artifactOf("x", "file://"+path, data)
		if i == 1 {
			a.Digest = sha512Of(data)
		}
		list = append(list, a)
		want[objectName(a)] = data
	}
	fetch(t, c, list...)
	return c, list, want
}

func TestWriteTar(t *testing.T) {
	c, list, want := filled(t)
	var b bytes.Buffer
	var last, total int64
	err := c.WriteTar(t.Context(), &b, []string{list[2].Digest, list[0].Digest, list[1].Digest, list[0].Digest}, func(done, of int64) {
		if done < last || done > of {
			t.Errorf("%d of %d after %d", done, of, last)
		}
		last, total = done, of
	})
	if err != nil {
		t.Fatal(err)
	}
	whole, order, err := untar(&b)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(order, " ") != objectName(list[2])+" "+objectName(list[0])+" "+objectName(list[1]) {
		t.Errorf("order %q", order)
	}
	for name, data := range want {
		if !bytes.Equal(whole[name], data) {
			t.Errorf("%s: %d bytes that differ from the %d wanted", name, len(whole[name]), len(data))
		}
	}
	if sum := list[0].Size + list[1].Size + list[2].Size; last != sum || total != sum {
		t.Errorf("progress %d of %d, want %d", last, total, sum)
	}
}

func TestWriteTarOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := newCache(t, Options{}).WriteTar(t.Context(), &b, nil, nil); err != nil {
		t.Fatal(err)
	}
	if whole, _, err := untar(&b); err != nil || len(whole) != 0 {
		t.Errorf("%v, %v", whole, err)
	}
}

// A damaged object never arrives complete, wherever the damage is. The objects before it arrive complete.
func TestWriteTarOfACorruptObject(t *testing.T) {
	for i := range 3 {
		for _, where := range []string{"first", "last", "shorter"} {
			c, list, want := filled(t)
			a := list[i]
			at := map[string]int{"first": 0, "last": int(a.Size) - 1}[where]
			path := filepath.Join(c.dir, objectName(a))
			if where == "shorter" {
				os.Remove(path)
				write(t, path, want[objectName(a)][:a.Size-1])
			} else {
				flip(t, at)(path)
			}
			var b bytes.Buffer
			var digests []string
			for _, a := range list {
				digests = append(digests, a.Digest)
			}
			err := c.WriteTar(t.Context(), &b, digests, nil)
			if fault.CodeOf(err) != fault.IntegrityFailed || !strings.Contains(err.Error(), a.Digest) || fault.HintOf(err) == "" {
				t.Errorf("object %d, %s: %v", i, where, err)
			}
			whole, _, err := untar(&b)
			if err == nil && a.Size > bufferSize { // for a small object not even the header is sent
				t.Errorf("object %d, %s: the stream ended without an error", i, where)
			}
			if _, arrived := whole[objectName(a)]; arrived {
				t.Errorf("object %d, %s: the damaged object arrived complete", i, where)
			}
			if len(whole) != i {
				t.Errorf("object %d, %s: %d objects arrived", i, where, len(whole))
			}
			if c.Has(a) {
				t.Errorf("object %d, %s: the damaged object is still in the cache", i, where)
			}
			fetch(t, c, a)
			if err := c.WriteTar(t.Context(), io.Discard, digests, nil); err != nil {
				t.Errorf("object %d, %s: after the object was fetched again: %v", i, where, err)
			}
		}
	}
}

func TestWriteTarFailures(t *testing.T) {
	c, list, _ := filled(t)
	digests := []string{list[2].Digest, list[1].Digest}
	// Missing objects are reported before any byte is sent.
	var b bytes.Buffer
	err := c.WriteTar(t.Context(), &b, append(digests, sha256Of([]byte("nobody has this"))), nil)
	if fault.CodeOf(err) != fault.NotFound || b.Len() != 0 {
		t.Errorf("%v after %d bytes", err, b.Len())
	}
	if err := c.WriteTar(t.Context(), &b, []string{"../../etc/passwd"}, nil); fault.CodeOf(err) != fault.InvalidInput || b.Len() != 0 {
		t.Errorf("%v after %d bytes", err, b.Len())
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = c.WriteTar(ctx, io.Discard, digests, func(done, _ int64) { cancel() })
	if fault.CodeOf(err) != fault.Interrupted || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// WriteTar wraps an error of the receiver, and isLocal does not blame this machine for it.
	r, w := io.Pipe()
	broken := errors.New("guest went away")
	r.CloseWithError(broken)
	if err := c.WriteTar(t.Context(), w, digests, nil); !errors.Is(err, broken) || isLocal(err) {
		t.Errorf("receiver gone: %v", err)
	}
	if !c.Has(list[2]) || !c.Has(list[1]) {
		t.Error("good objects were moved aside")
	}
}
