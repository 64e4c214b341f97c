package tree

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// sample returns a stream with each kind of record.
func sample(t testing.TB) []byte {
	t.Helper()
	var wire bytes.Buffer
	w, err := NewWriter(&wire, Header{Version: Version, Arch: "amd64"})
	write := func(e Entry, data string) {
		err = errors.Join(err, w.Entry(&e))
		if e.HasData() {
			_, werr := io.WriteString(w, data)
			err = errors.Join(err, werr, w.EndFile())
		}
	}
	write(Entry{Path: []byte("."), Type: Dir, Mode: 0o755}, "")
	write(Entry{Path: []byte("a\xff\n"), Type: File, Mode: 0o4755, Size: 5, Xattrs: []Xattr{{Name: []byte("user.x"), Value: []byte{0}}}}, "hello")
	write(Entry{Path: []byte("b"), Type: File, Link: []byte("a\xff\n")}, "")
	write(Entry{Path: []byte("c"), Type: File, Size: 1 << 40, Sparse: true, Segments: []Segment{{0, 1}, {1 << 39, 2}}}, "xyz")
	write(Entry{Path: []byte("d"), Type: File, Size: 7, Reused: true, Digest: "00"}, "")
	write(Entry{Path: []byte("e"), Type: Symlink, Target: []byte("../../etc")}, "")
	write(Entry{Path: []byte("f"), Type: Block, Device: 0xfd00}, "")
	err = errors.Join(err, w.Entry(&Entry{Path: []byte("g"), Type: File, Size: 9}))
	_, werr := io.WriteString(w, "short")
	err = errors.Join(err, werr, w.Drop(), w.Problem(Problem{Path: []byte("g"), Reason: "permission denied"}))
	_, end := w.End()
	if err := errors.Join(err, end); err != nil {
		t.Fatal(err)
	}
	return wire.Bytes()
}

// read reads a stream and returns its summary and its number of bytes of data.
func read(r io.Reader) (last Summary, data int, err error) {
	in, err := NewReader(r)
	if err != nil {
		return last, 0, err
	}
	for {
		record, err := in.Next()
		switch v := record.(type) {
		case Data:
			data += len(v)
		case Summary:
			last = v
		}
		if errors.Is(err, io.EOF) {
			return last, data, nil
		}
		if err != nil {
			return last, data, err
		}
	}
}

func TestRoundTrip(t *testing.T) {
	last, data, err := read(bytes.NewReader(sample(t)))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Summary{Entries: 7, Bytes: 5 + 3 + 7, Problems: 1}); last != want || data != 5+3+5 {
		t.Errorf("%+v, %d bytes of data", last, data)
	}
}

// A wrong bit in any byte of a stream is an error.
func TestDamagedAnywhere(t *testing.T) {
	whole := sample(t)
	for n := range whole {
		for _, bit := range []byte{1, 0x80} {
			damaged := bytes.Clone(whole)
			damaged[n] ^= bit
			if _, _, err := read(bytes.NewReader(damaged)); err == nil {
				t.Fatalf("bit %#x of byte %d of %d is wrong, but there is no error: %q", bit, n, len(whole), whole[max(0, n-20):n+1])
			}
		}
	}
}

// A stream that ends early, or has bytes after its end, is an error.
func TestCutAnywhere(t *testing.T) {
	whole := sample(t)
	for n := range whole {
		if _, _, err := read(bytes.NewReader(whole[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("after %d of %d bytes: %v", n, len(whole), err)
		}
	}
	if _, _, err := read(bytes.NewReader(append(whole, 0))); err == nil {
		t.Error("bytes after the summary are accepted")
	}
}

func TestInvalidStreams(t *testing.T) {
	dir := &Entry{Path: []byte("."), Type: Dir}
	file := &Entry{Path: []byte("a"), Type: File, Size: 1}
	for name, c := range map[string]struct {
		write func(w *Writer) error
		want  string
	}{
		"data before an entry": {func(w *Writer) error { _, err := w.Write([]byte("x")); return err }, "not expected"},
		"data of a directory": {func(w *Writer) error {
			_, err := w.Write([]byte("x"))
			return errors.Join(w.Entry(dir), err)
		}, "not expected"},
		"a sum of nothing":        {func(w *Writer) error { return w.EndFile() }, "not expected"},
		"an entry within a file":  {func(w *Writer) error { return errors.Join(w.Entry(file), w.Entry(dir)) }, "not expected"},
		"a summary within a file": {func(w *Writer) error { return errors.Join(w.Entry(file), w.object(kindSummary, checkedSummary{})) }, "not expected"},
		"a second header":         {func(w *Writer) error { return w.object(kindHeader, Header{Version: 1}) }, "unknown kind"},
		"too much data": {func(w *Writer) error {
			err := w.Entry(file)
			_, werr := w.Write([]byte("xy"))
			return errors.Join(err, werr)
		}, "more data"},
		"an unknown field": {func(w *Writer) error {
			return w.object(kindEntry, map[string]any{"path": []byte("a"), "type": "dir", "more": 1})
		}, "unknown field"},
	} {
		var wire bytes.Buffer
		w, err := NewWriter(&wire, Header{Version: Version})
		if err := errors.Join(err, c.write(w), w.Flush()); err != nil {
			t.Fatal(name, err)
		}
		if _, _, err := read(&wire); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var wire bytes.Buffer
	w, err := NewWriter(&wire, Header{Version: Version + 1})
	if err := errors.Join(err, w.Flush()); err != nil {
		t.Fatal(err)
	}
	if _, err := NewReader(&wire); err == nil || !strings.Contains(err.Error(), "version 3") {
		t.Errorf("a later version: %v", err)
	}
}

func TestCheckEntries(t *testing.T) {
	long := strings.Repeat("n", 255)
	for _, path := range []string{".", "a", "a/b", "a b/\xff", "...", "..a", long + "/" + long} {
		if e := (&Entry{Path: []byte(path), Type: Dir}); e.Check() != nil {
			t.Errorf("%q: %v", path, e.Check())
		}
	}
	for _, path := range []string{"", "/", "/etc", "..", "../a", "a/..", "a/../b", "a//b", "a/", "./a", "a/.", "a\x00", long + "n"} {
		if (&Entry{Path: []byte(path), Type: Dir}).Check() == nil {
			t.Errorf("%q is accepted", path)
		}
	}
	a := []byte("a")
	for name, e := range map[string]Entry{
		"no type":               {Path: a},
		"a root that is a file": {Path: []byte("."), Type: File},
		"mode with a file type": {Path: a, Type: Dir, Mode: 0o40755},
		"negative size":         {Path: a, Type: File, Size: -1},
		"size of a directory":   {Path: a, Type: Dir, Size: 1},
		"digest of a symlink":   {Path: a, Type: Symlink, Target: a, Digest: "00"},
		"no target":             {Path: a, Type: Symlink},
		"target of a file":      {Path: a, Type: File, Target: a},
		"NUL in a target":       {Path: a, Type: Symlink, Target: []byte("\x00")},
		"link outside":          {Path: a, Type: File, Link: []byte("../b")},
		"link to itself":        {Path: a, Type: File, Link: a},
		"linked directory":      {Path: a, Type: Dir, Link: []byte("b")},
		"segment past the end":  {Path: a, Type: File, Size: 2, Sparse: true, Segments: []Segment{{1, 2}}},
		"segment overflow":      {Path: a, Type: File, Size: 2, Sparse: true, Segments: []Segment{{1<<63 - 1, 2}}},
		"segments overlap":      {Path: a, Type: File, Size: 9, Sparse: true, Segments: []Segment{{0, 2}, {1, 2}}},
		"empty segment":         {Path: a, Type: File, Size: 9, Sparse: true, Segments: []Segment{{0, 0}}},
		"segments, no holes":    {Path: a, Type: File, Size: 9, Segments: []Segment{{0, 1}}},
		"xattr without a name":  {Path: a, Type: File, Xattrs: []Xattr{{}}},
		"xattr twice":           {Path: a, Type: File, Xattrs: []Xattr{{Name: a}, {Name: a}}},
	} {
		if e.Check() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// FuzzReader checks that the reader returns for any input, and that a stream that it accepts has the same summary after
// it is written and read again.
func FuzzReader(f *testing.F) {
	f.Add(sample(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		last, _, err := read(bytes.NewReader(data))
		if err != nil {
			return
		}
		in, _ := NewReader(bytes.NewReader(data))
		var again bytes.Buffer
		w, err := NewWriter(&again, in.Header)
		for err == nil {
			var record any
			if record, err = in.Next(); err != nil {
				break
			}
			switch v := record.(type) {
			case *Entry:
				err = w.Entry(v)
			case Data:
				_, err = w.Write(v)
			case Sum:
				if v.Broken {
					err = w.Drop()
				} else {
					err = w.EndFile()
				}
			case Problem:
				err = w.Problem(v)
			case Summary:
				_, err = w.End()
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if last2, _, err := read(&again); err != nil || last != last2 {
			t.Errorf("%+v, %+v, %v", last, last2, err)
		}
	})
}
