package ops

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"hermes-box/guest/protocol/tree"
)

func sequence(list ...tree.Entry) entries {
	return func(yield func(*tree.Entry, error) bool) {
		for _, e := range list {
			if !yield(&e, nil) {
				return
			}
		}
	}
}

// Every difference between two trees is found and named. Attributes that a restore cannot keep are ignored.
func TestCompareTrees(t *testing.T) {
	dir := func(path string) tree.Entry { return tree.Entry{Path: []byte(path), Type: tree.Dir, Mode: 0o755} }
	file := func(path string, change func(*tree.Entry)) tree.Entry {
		e := tree.Entry{Path: []byte(path), Type: tree.File, Mode: 0o644, UID: 1000, Size: 8192, MTime: 5, Digest: "d"}
		if change != nil {
			change(&e)
		}
		return e
	}
	for name, c := range map[string]struct {
		want, got []tree.Entry
		lost      string
		differ    []string // the paths of the differences
	}{
		"the same":         {[]tree.Entry{dir("."), file("a", nil)}, []tree.Entry{dir("."), file("a", nil)}, "", nil},
		"inode and ctime":  {[]tree.Entry{file("a", nil)}, []tree.Entry{file("a", func(e *tree.Entry) { e.Inode, e.CTime = 7, 8 })}, "", nil},
		"time of the root": {[]tree.Entry{dir(".")}, []tree.Entry{func() tree.Entry { e := dir("."); e.MTime = 9; return e }()}, "", nil},
		"sparse, no hole": {[]tree.Entry{file("a", nil)}, []tree.Entry{file("a", func(e *tree.Entry) {
			e.Sparse, e.Segments = true, []tree.Segment{{Length: 8192}}
		})}, "", nil},
		"a hole": {[]tree.Entry{file("a", nil)}, []tree.Entry{file("a", func(e *tree.Entry) {
			e.Sparse, e.Segments = true, []tree.Segment{{Length: 4096}}
		})}, "", []string{"a"}},
		"data":                   {[]tree.Entry{file("a", nil)}, []tree.Entry{file("a", func(e *tree.Entry) { e.Digest = "x" })}, "", []string{"a"}},
		"owner":                  {[]tree.Entry{file("a", nil)}, []tree.Entry{file("a", func(e *tree.Entry) { e.UID = 0 })}, "", []string{"a"}},
		"time":                   {[]tree.Entry{file("a", nil)}, []tree.Entry{file("a", func(e *tree.Entry) { e.MTime = 6 })}, "", []string{"a"}},
		"time of a dir":          {[]tree.Entry{dir("a")}, []tree.Entry{func() tree.Entry { e := dir("a"); e.MTime = 9; return e }()}, "", []string{"a"}},
		"xattr":                  {[]tree.Entry{file("a", nil)}, []tree.Entry{file("a", func(e *tree.Entry) { e.Xattrs = []tree.Xattr{{Name: []byte("user.x")}} })}, "", []string{"a"}},
		"lost":                   {[]tree.Entry{file("a", nil)}, []tree.Entry{file("a", func(e *tree.Entry) { e.UID = 0 })}, "a", nil},
		"missing":                {[]tree.Entry{dir("."), dir("a"), file("a/b", nil), file("c", nil)}, []tree.Entry{dir("."), dir("a"), file("c", nil)}, "", []string{"a/b"}},
		"extra files":            {[]tree.Entry{dir("."), file("c", nil)}, []tree.Entry{dir("."), dir("a"), file("a/b", nil), file("c", nil), file("d", nil)}, "", []string{"a", "a/b", "d"}},
		"renamed":                {[]tree.Entry{dir("."), file("a", nil)}, []tree.Entry{dir("."), file("b", nil)}, "", []string{"a", "b"}},
		"order":                  {[]tree.Entry{dir("a"), file("a/b", nil), file("a.b", nil)}, []tree.Entry{dir("a"), file("a/b", nil), file("a.b", nil)}, "", nil},
		"missing with odd order": {[]tree.Entry{dir("a"), file("a/b", nil), file("a.b", nil)}, []tree.Entry{dir("a"), file("a.b", nil)}, "", []string{"a/b"}},
		"empty trees":            {nil, nil, "", nil},
	} {
		r := &Drill{}
		if err := r.compare(sequence(c.want...), sequence(c.got...), map[string]bool{c.lost: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var paths []string
		for _, d := range r.Differences {
			path, _, _ := strings.Cut(d, ": ")
			paths = append(paths, path)
		}
		if !slices.Equal(paths, c.differ) || (r.Expected == r.Found) != (len(c.differ) == 0) || r.Different != len(c.differ) {
			t.Errorf("%s: %q, want %q; %s and %s", name, r.Differences, c.differ, r.Expected, r.Found)
		}
	}
}

// A stream that is cut off or fails is an error, and never a tree without differences.
func TestCompareBrokenStream(t *testing.T) {
	var stream bytes.Buffer
	w, err := tree.NewWriter(&stream, tree.Header{Version: tree.Version})
	if err != nil {
		t.Fatal(err)
	}
	root, file := tree.Entry{Path: []byte("."), Type: tree.Dir}, tree.Entry{Path: []byte("a"), Type: tree.File, Size: 1}
	_, writeErr := w.Write(nil)
	if err := errors.Join(w.Entry(&root), w.Entry(&file), writeErr); err != nil {
		t.Fatal(err)
	}
	_, writeErr = w.Write([]byte("x"))
	endErr := errors.Join(w.EndFile(), w.Problem(tree.Problem{Path: []byte("b"), Reason: "r"}))
	if _, err := w.End(); errors.Join(err, writeErr, endErr) != nil {
		t.Fatal(errors.Join(err, writeErr, endErr))
	}
	digest := sha256.Sum256([]byte("x"))
	file.Digest = hex.EncodeToString(digest[:])
	whole := stream.Bytes()
	for n := range len(whole) + 1 {
		var problems []string
		r := &Drill{}
		err := r.compare(sequence(root, file), received(bytes.NewReader(whole[:n]), func(int) {}, func(p tree.Problem) { problems = append(problems, string(p.Path)) }), nil)
		if (err == nil) != (n == len(whole)) {
			t.Errorf("cut after %d of %d bytes: %v", n, len(whole), err)
		}
		if n == len(whole) && (r.Different > 0 || !slices.Equal(problems, []string{"b"})) {
			t.Errorf("%q, problems %q", r.Differences, problems)
		}
	}
	failing := io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), &failingReader{})
	if err := (&Drill{}).compare(sequence(root, file), received(failing, func(int) {}, func(tree.Problem) {}), nil); !errors.Is(err, errStopped) {
		t.Errorf("an error of the stream: %v", err)
	}
}

type failingReader struct{}

func (*failingReader) Read([]byte) (int, error) { return 0, errStopped }
