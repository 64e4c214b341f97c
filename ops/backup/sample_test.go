package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"hermes-box/guest/protocol/tree"
)

// file is an entry with its data.
type file struct {
	tree.Entry
	data []byte
}

// forest is a tree in the order of its stream, and its problems.
type forest struct {
	files    []file
	problems []tree.Problem
	broken   map[string]int // before the entry with this path, a file is sent that breaks off after this number of bytes
}

func (f *forest) add(e tree.Entry, data []byte) {
	if e.Type == tree.File && e.Link == nil {
		if !e.Sparse {
			e.Size = int64(len(data))
		}
		sum := sha256.Sum256(data)
		e.Digest = hex.EncodeToString(sum[:])
	}
	f.files = append(f.files, file{e, data})
}

func (f *forest) regular(path string, data []byte) {
	f.add(tree.Entry{Path: []byte(path), Type: tree.File, Mode: 0o644, UID: 1000, GID: 1000, MTime: 1, CTime: 2, Inode: 3}, data)
}

// stream returns the stream of the tree. Files for which reused returns true are Reused. ends has the offset after each
// record.
func (f *forest) stream(t testing.TB, reused func(path string) bool) (stream []byte, ends []int) {
	t.Helper()
	var out bytes.Buffer
	w, err := tree.NewWriter(&out, tree.Header{Version: tree.Version, Arch: "arm64"})
	must(t, err)
	end := func(err error) {
		must(t, errors.Join(err, w.Flush()))
		ends = append(ends, out.Len())
	}
	end(nil)
	problems := map[string]tree.Problem{}
	for _, p := range f.problems {
		problems[string(p.Path)] = p
	}
	for _, file := range f.files {
		e := file.Entry
		e.Reused = e.Type == tree.File && e.Link == nil && reused != nil && reused(string(e.Path))
		if n := f.broken[string(e.Path)]; n > 0 {
			end(w.Entry(&tree.Entry{Path: []byte("short"), Type: tree.File, Size: int64(2 * n)}))
			for part := range chunksOf(noise(n, n), 100_000) {
				_, err := w.Write(part)
				end(err)
			}
			end(w.Drop())
		}
		if e.HasData() {
			e.Digest = ""
		}
		end(w.Entry(&e))
		if e.HasData() {
			for part := range chunksOf(file.data, 100_000) {
				_, err := w.Write(part)
				end(err)
			}
			end(w.EndFile())
		}
	}
	for _, p := range f.problems {
		end(w.Problem(p))
	}
	_, err = w.End()
	end(err)
	return out.Bytes(), ends
}

func chunksOf(data []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(data) > 0 {
			part := data[:min(n, len(data))]
			if data = data[len(part):]; !yield(part) {
				return
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noise returns n bytes that cannot be compressed.
func noise(seed, n int) []byte {
	data := make([]byte, n)
	r := rand.NewChaCha8(sha256.Sum256(fmt.Append(nil, seed)))
	_, _ = r.Read(data)
	return data
}

// odd is a tree with every type of entry but a block device, odd names, an empty file, holes, and files that were read in
// part.
func odd() *forest {
	f := &forest{}
	f.add(tree.Entry{Path: []byte("."), Type: tree.Dir, Mode: 0o755}, nil)
	f.regular("empty", nil)
	f.regular("a\xff\n\"\\<&>\u2028", []byte("any bytes"))
	f.regular(strings.Repeat("n", 255), []byte("a long name"))
	f.add(tree.Entry{Path: []byte("d"), Type: tree.Dir, Mode: 0o1777, Xattrs: []tree.Xattr{{Name: []byte("system.posix_acl_default"), Value: []byte{2, 0, 0, 255}}}}, nil)
	f.add(tree.Entry{Path: []byte("d/x"), Type: tree.File, Mode: 0o4755, Xattrs: []tree.Xattr{{Name: []byte("security.capability"), Value: []byte{1}}, {Name: []byte("user.\xfe"), Value: nil}}}, []byte("xattrs"))
	f.add(tree.Entry{Path: []byte("d/link"), Type: tree.File, Link: []byte("d/x"), Size: 6}, nil)
	f.add(tree.Entry{Path: []byte("hole"), Type: tree.File, Size: 1 << 40, Sparse: true, Segments: []tree.Segment{{Offset: 4096, Length: 3}, {Offset: 1 << 39, Length: 2}}}, []byte("abcde"))
	f.add(tree.Entry{Path: []byte("allhole"), Type: tree.File, Size: 1 << 30, Sparse: true}, nil)
	f.add(tree.Entry{Path: []byte("symlink"), Type: tree.Symlink, Mode: 0o777, Target: []byte("../../etc/\xff")}, nil)
	f.add(tree.Entry{Path: []byte("fifo"), Type: tree.Fifo}, nil)
	f.add(tree.Entry{Path: []byte("socket"), Type: tree.Socket}, nil)
	f.add(tree.Entry{Path: []byte("null"), Type: tree.Char, Device: 0x103}, nil)
	f.regular("same", []byte("any bytes"))
	f.problems = append(f.problems, tree.Problem{Path: []byte("short"), Reason: "input/output error"}, tree.Problem{Path: []byte("gone"), Reason: "permission denied"})
	f.broken = map[string]int{"d": 10, "symlink": 3 << 20}
	return f
}

// large is a tree with a file of several chunks and one that is a little too large to be packed.
func large() *forest {
	f := &forest{}
	f.add(tree.Entry{Path: []byte("."), Type: tree.Dir, Mode: 0o755}, nil)
	f.regular("before", []byte("small"))
	f.regular("big", noise(1, 20<<20))
	f.regular("limit", noise(2, smallFile))
	f.regular("over", noise(3, smallFile+1))
	f.regular("zeros", make([]byte, 20<<20))
	f.regular("text", bytes.Repeat([]byte("all work and no play\n"), 100_000))
	return f
}

// many is a tree with n small files of up to size bytes.
func many(n, size int) *forest {
	f := &forest{}
	r := rand.New(rand.NewPCG(1, 2))
	f.add(tree.Entry{Path: []byte("."), Type: tree.Dir, Mode: 0o755}, nil)
	for i := range n {
		if i%100 == 0 {
			f.add(tree.Entry{Path: fmt.Appendf(nil, "d%04d", i/100), Type: tree.Dir, Mode: 0o755}, nil)
		}
		f.regular(fmt.Sprintf("d%04d/f%d", i/100, i), noise(i, r.IntN(size)))
	}
	return f
}

// newPool makes a pool for one recipient in a fresh directory.
func newPool(t testing.TB) (*Pool, *age.X25519Identity) {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	must(t, err)
	p, err := Create(t.Context(), t.TempDir()+"/pool", []Recipient{{Recipient: identity.Recipient().String(), Name: "box"}})
	must(t, err)
	clock := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	p.now = func() time.Time { clock = clock.Add(time.Minute); return clock }
	return p, identity
}

// save makes a backup that must succeed.
func save(t testing.TB, p *Pool, f *forest, meta Meta, previous *Bundle, reused func(string) bool) *Envelope {
	t.Helper()
	stream, _ := f.stream(t, reused)
	env, err := p.Write(t.Context(), bytes.NewReader(stream), meta, previous, nil)
	must(t, err)
	return env
}

func load(t testing.TB, p *Pool, id string) *Bundle {
	t.Helper()
	b, err := p.Load(t.Context(), id)
	must(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

// compare restores a backup and compares it with the tree.
func compare(t testing.TB, b *Bundle, want *forest) {
	t.Helper()
	got, err := restore(t.Context(), b)
	must(t, err)
	if len(got.files) != len(want.files) {
		t.Fatalf("%d entries were restored, want %d", len(got.files), len(want.files))
	}
	for i, w := range want.files {
		g := got.files[i]
		if fmt.Sprintf("%+v", g.Entry) != fmt.Sprintf("%+v", w.Entry) || !bytes.Equal(g.data, w.data) {
			t.Errorf("restored %+v with %d bytes, want %+v with %d bytes", g.Entry, len(g.data), w.Entry, len(w.data))
		}
	}
}

// restore reads the stream that Send writes, and checks it as a restore does.
func restore(ctx context.Context, b *Bundle) (*forest, error) {
	pr, pw := io.Pipe()
	go func() { pw.CloseWithError(Send(ctx, b, pw)) }()
	defer pr.Close()
	in, err := tree.NewReader(pr)
	if err != nil {
		return nil, err
	}
	out := &forest{}
	for {
		record, err := in.Next()
		if err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		switch v := record.(type) {
		case *tree.Entry:
			out.files = append(out.files, file{Entry: *v})
		case tree.Data:
			last := &out.files[len(out.files)-1]
			last.data = append(last.data, v...)
		case tree.Sum:
			last := out.files[len(out.files)-1]
			if sum := sha256.Sum256(last.data); hex.EncodeToString(sum[:]) != last.Digest {
				err = fmt.Errorf("%q has another digest", last.Path)
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// onDisk returns the bytes of all files in the pool.
func onDisk(t testing.TB, p *Pool) (n int64) {
	t.Helper()
	for _, name := range files(t, p) {
		info, err := lstat(p, name)
		must(t, err)
		n += info
	}
	return n
}
