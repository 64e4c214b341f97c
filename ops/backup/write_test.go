package backup

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// files lists the regular files in the pool, sorted.
func files(t testing.TB, p *Pool) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(p.disk.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			name, _ := filepath.Rel(p.disk.dir, path)
			names = append(names, name)
		}
		return err
	}))
	return names
}

func lstat(p *Pool, name string) (int64, error) {
	info, err := os.Lstat(p.disk.path(name))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// A restored backup equals the tree, its envelope has the right counts, and no temporary files are left.
func TestWriteAndSend(t *testing.T) {
	for name, f := range map[string]*forest{"odd": odd(), "large": large(), "many": many(10_000, 2000), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			p, identity := newPool(t)
			var done int64
			stream, _ := f.stream(t, nil)
			env, err := p.Write(t.Context(), bytes.NewReader(stream), Meta{Box: "main", Label: "first", Lock: "lock\n", Artifacts: []Artifact{{"node", "sha256:00", 7}}}, nil, func(n int64) { done = n })
			must(t, err)
			if env.Entries != len(f.files) || env.Problems != len(f.problems) || env.Added == 0 || !env.Good() || env.Recipients[0] != identity.Recipient().String() {
				t.Errorf("envelope %+v", env)
			}
			again, err := Open(p.disk.dir, identity)
			must(t, err)
			b := load(t, again, env.ID)
			if b.Lock != "lock\n" || b.Artifacts[0].Name != "node" || b.Label != "first" || b.Arch != "arm64" {
				t.Errorf("header %+v", b.Header)
			}
			compare(t, b, f)
			r, err := again.Verify(t.Context(), env.ID, nil)
			must(t, err)
			if done != r.Bytes {
				t.Errorf("progress ended at %d bytes, verified %d", done, r.Bytes)
			}
			if r.Entries != len(f.files) || r.Digest != b.Summary.Digest || len(r.NotChecked) != len(f.problems) {
				t.Errorf("report %+v", r)
			}
			for _, name := range files(t, p) {
				if strings.HasPrefix(name, "tmp") {
					t.Errorf("%s is left", name)
				}
			}
			list, err := List(p.disk.dir)
			if must(t, err); len(list) != 1 || list[0].ID != env.ID || !list[0].Good() {
				t.Errorf("list %+v", list)
			}
		})
	}
}

// A second backup of unchanged data adds at most 2 % to the size of the pool, and so does a backup after 1 % of the
// files have changed.
func TestSecondBackupAddsLittle(t *testing.T) {
	p, _ := newPool(t)
	f := many(2000, 20_000)
	f.regular("z", noise(7, 30<<20))
	first := save(t, p, f, Meta{Box: "main"}, nil, nil)
	size := onDisk(t, p)
	b := load(t, p, first.ID)

	all := func(string) bool { return true }
	second := save(t, p, f, Meta{Box: "main"}, b, all)
	if second.ReadBack != 0 || second.Added > size/50 || onDisk(t, p)-size > size/50 {
		t.Errorf("unchanged: added %d to %d bytes, read %d chunks", second.Added, size, second.ReadBack)
	}
	compare(t, load(t, p, second.ID), f)

	changed := map[string]bool{}
	for i := range f.files {
		e := &f.files[i]
		if e.Type == tree.File && i%100 == 7 {
			changed[string(e.Path)] = true
			e.data = noise(10_000+i, len(e.data))
			f.regular(string(e.Path), e.data)
			*e, f.files = f.files[len(f.files)-1], f.files[:len(f.files)-1]
		}
	}
	for name, meta := range map[string]Meta{"reused": {}, "full": {Full: true}} {
		reused := func(path string) bool { return !meta.Full && !changed[path] }
		env := save(t, p, f, meta, b, reused)
		if env.Added > size/50 {
			t.Errorf("%s: a backup after a change of 1 %% added %d to %d bytes", name, env.Added, size)
		}
		compare(t, load(t, p, env.ID), f)
		must(t, p.Delete(t.Context(), env.ID, false, nil))
	}
}

// A byte inserted into a large file changes one or two of its chunks.
func TestInsertedByteAddsFewChunks(t *testing.T) {
	p, _ := newPool(t)
	data := noise(1, 50<<20)
	f := &forest{}
	f.regular("big", data)
	first := save(t, p, f, Meta{}, nil, nil)
	f = &forest{}
	f.regular("big", append(append(append([]byte(nil), data[:20<<20]...), 'x'), data[20<<20:]...))
	second := save(t, p, f, Meta{}, load(t, p, first.ID), nil)
	if second.Added > 2*maxChunk {
		t.Errorf("added %d bytes", second.Added)
	}
	compare(t, load(t, p, second.ID), f)
}

// A full backup stores damaged chunks again, both those of packs and those of large files.
func TestFullBackupRepairs(t *testing.T) {
	p, _ := newPool(t)
	f := large()
	first := save(t, p, f, Meta{}, nil, nil)
	b := load(t, p, first.ID)
	for _, c := range b.Chunks {
		must(t, flip(p, chunkName(c.ID), int(c.Stored)/2))
	}
	if _, err := p.Verify(t.Context(), first.ID, nil); err == nil {
		t.Error("Verify does not find the damage")
	}
	second := save(t, p, f, Meta{Full: true}, b, nil)
	compare(t, load(t, p, second.ID), f)
	if _, err := p.Verify(t.Context(), first.ID, nil); err != nil {
		t.Error(err)
	}
	must(t, os.Remove(p.disk.path(chunkName(b.Chunks[0].ID))))
	stream, _ := f.stream(t, func(string) bool { return true })
	if _, err := p.Write(t.Context(), bytes.NewReader(stream), Meta{}, b, nil); err == nil {
		t.Error("a backup reuses a chunk that is missing")
	}
}

// A file that the guest reports as unchanged, but that differs from the previous bundle, is an error.
func TestChangedFileIsNotReused(t *testing.T) {
	p, _ := newPool(t)
	f := odd()
	b := load(t, p, save(t, p, f, Meta{}, nil, nil).ID)
	reuse := func(path string) bool { return path == "new" || path == "same" }
	for name, change := range map[string]func(f *forest){
		"new path":     func(f *forest) { f.regular("new", []byte("any bytes")) },
		"other digest": func(f *forest) { f.files[13].Digest = f.files[1].Digest },
		"other size":   func(f *forest) { f.files[13].Size++ },
		"other holes": func(f *forest) {
			f.files[13].Size++
			f.files[13].Sparse = true
			f.files[13].Segments = []tree.Segment{{Offset: 1, Length: 9}}
		},
		"was a symlink": func(f *forest) { f.files[13].Path = []byte("symlink") },
	} {
		f := odd()
		change(f)
		stream, _ := f.stream(t, func(path string) bool { return reuse(path) || name == "was a symlink" && path == "symlink" })
		if _, err := p.Write(t.Context(), bytes.NewReader(stream), Meta{}, b, nil); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	stream, _ := f.stream(t, reuse)
	if _, err := p.Write(t.Context(), bytes.NewReader(stream), Meta{}, nil, nil); err == nil {
		t.Error("reuse without a previous bundle is accepted")
	}
	if list, _ := List(p.disk.dir); len(list) != 1 {
		t.Errorf("%d backups are listed", len(list))
	}
}

// A stream that is cut at or inside any record, or has data after its end, lists nothing.
func TestShortStreams(t *testing.T) {
	t.Parallel()
	p, _ := newPool(t)
	f := odd()
	f.regular("big", noise(1, 3<<20))
	stream, ends := f.stream(t, nil)
	cuts := map[int]bool{0: true, len(stream) - 1: true}
	for _, end := range ends[:len(ends)-1] {
		cuts[end], cuts[end+3], cuts[end+7], cuts[end-1] = true, true, true, true
	}
	for n := range cuts {
		if _, err := p.Write(t.Context(), bytes.NewReader(stream[:n]), Meta{}, nil, nil); err == nil {
			t.Errorf("a stream cut after %d of %d bytes is accepted", n, len(stream))
		}
	}
	if _, err := p.Write(t.Context(), bytes.NewReader(append(stream, 0)), Meta{}, nil, nil); err == nil {
		t.Error("a stream with data after its end is accepted")
	}
	if list, _ := List(p.disk.dir); len(list) != 0 {
		t.Errorf("%d backups are listed", len(list))
	}
	must(t, p.Sweep(t.Context()))
	if left := files(t, p); len(left) != 2 {
		t.Errorf("left after Sweep: %v", left)
	}
}

// Streams whose data, sums or summary are wrong are refused.
func TestLyingStreams(t *testing.T) {
	p, _ := newPool(t)
	for name, change := range map[string]func(f *forest){
		"a broken file without a problem": func(f *forest) { f.problems = f.problems[1:] },
		"a path twice":                    func(f *forest) { f.files = append(f.files, f.files[1]) },
	} {
		f := odd()
		change(f)
		stream, _ := f.stream(t, nil)
		if _, err := p.Write(t.Context(), bytes.NewReader(stream), Meta{}, nil, nil); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	stream, _ := odd().stream(t, nil)
	for name, at := range map[string]int{
		"a wrong summary": bytes.LastIndex(stream, []byte(`"entries":`)) + len(`"entries":`),
		"other data":      bytes.Index(stream, []byte("any bytes")),
	} {
		damaged := bytes.Clone(stream)
		damaged[at] ^= 2
		if _, err := p.Write(t.Context(), bytes.NewReader(damaged), Meta{}, nil, nil); fault.CodeOf(err) != fault.IntegrityFailed || fault.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, _ := List(p.disk.dir); len(list) != 0 {
		t.Errorf("%d backups are listed", len(list))
	}
}

// flip changes one byte of a file of the pool.
func flip(p *Pool, name string, at int) error {
	data, err := os.ReadFile(p.disk.path(name))
	if err != nil {
		return err
	}
	data[at] ^= 0x41
	return os.WriteFile(p.disk.path(name), data, 0o600)
}
