package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// Put stores only content with the right digest. It replaces a corrupt object and what is left of a download, and
// leaves no partial file.
func TestPut(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("content "), 300_000)
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	d, err := lock.ParseDigest(digest)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		object, partial []byte // in the cache before
		data            []byte
		err             error // of the reader after the data
		code            fault.Code
	}{
		"new":             {data: content},
		"wrong":           {data: content[1:], code: fault.IntegrityFailed},
		"empty":           {code: fault.IntegrityFailed},
		"reader fails":    {data: content[:9], err: errors.New("broken"), code: fault.ExternalFailed},
		"cached already":  {object: content, data: content},
		"corrupt":         {object: content[1:], data: content},
		"rest of a fetch": {partial: []byte("rest"), data: content},
	} {
		t.Run(name, func(t *testing.T) {
			cache, err := Open(t.TempDir(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for path, data := range map[string][]byte{cache.path(d): c.object, cache.partialPath(d): c.partial} {
				if data != nil {
					if err := os.WriteFile(path, data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			in := io.Reader(bytes.NewReader(c.data))
			if c.err != nil {
				in = io.MultiReader(in, iotest.ErrReader(c.err))
			}
			if err := cache.Put(t.Context(), digest, in); (err != nil) != (c.code != "") || err != nil && fault.CodeOf(err) != c.code {
				t.Errorf("Put: %v", err)
			}
			f, err := cache.Open(t.Context(), digest)
			if (err != nil) != (c.code != "") {
				t.Errorf("afterwards: %v", err)
			}
			if err == nil {
				f.Close()
			}
			if left, _ := filepath.Glob(filepath.Join(cache.dir, "partial", "*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
