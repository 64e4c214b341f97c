package backup

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
)

func itoa(i int) string { return strconv.Itoa(i) }

// usable reports whether a backup is found good when it is read: by Load and Verify, and by a restore.
func usable(t *testing.T, p *Pool, id string) bool {
	t.Helper()
	b, err := p.Load(t.Context(), id)
	if err != nil {
		return false
	}
	defer b.Close()
	r, err := b.compare(t.Context(), nil, nil)
	must(t, err)
	_, rerr := restore(t.Context(), b)
	if (r.DamagedAll == 0) != (rerr == nil) {
		t.Errorf("Verify finds %d damaged files, a restore says %v", r.DamagedAll, rerr)
	}
	return rerr == nil
}

// Damage of any byte of a bundle, an envelope or a chunk is found, and so is a wrong length. Damage of an envelope is
// found without the key, and the backup can still be used.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	p, _ := newPool(t)
	env := save(t, p, odd(), Meta{Box: "main", Lock: "lock"}, nil, nil)
	must(t, p.Sweep(t.Context())) // removes the chunks of the file that could not be read
	if !usable(t, p, env.ID) {
		t.Fatal("the backup is not usable before it is damaged")
	}
	for _, name := range files(t, p) {
		if name == keyFile || name == recipientsFile { // see key_test.go
			continue
		}
		whole, err := os.ReadFile(p.disk.path(name))
		must(t, err)
		tried := 0
		damage(t, whole, func(what string, data []byte) {
			tried++
			must(t, os.WriteFile(p.disk.path(name), data, 0o600))
			if name == envelopeName(env.ID) {
				if list, err := List(p.disk.dir); err != nil || len(list) != 1 || list[0].Good() || !list[0].Repairable {
					t.Errorf("%s, %s: listed as %+v, %v", name, what, list, err)
				}
				if tried%20 == 0 && !usable(t, p, env.ID) {
					t.Errorf("%s, %s: the backup cannot be used", name, what)
				}
			} else if usable(t, p, env.ID) {
				t.Errorf("%s, %s: the damage is not found", name, what)
			}
		})
		must(t, os.WriteFile(p.disk.path(name), whole, 0o600))
		t.Logf("%s: %d kinds of damage", name, tried)
	}
	if !usable(t, p, env.ID) {
		t.Error("the backup is not usable after the damage was undone")
	}
}

// Verify records damage in the envelope and names the files. When the chunk is good again, Verify clears the record.
func TestVerifyNotesDamage(t *testing.T) {
	p, _ := newPool(t)
	env := save(t, p, large(), Meta{}, nil, nil)
	b := load(t, p, env.ID)
	must(t, flip(p, chunkName(b.Chunks[0].ID), 500))
	r, err := p.Verify(t.Context(), env.ID, nil)
	if err == nil || r.DamagedAll == 0 || r.DamagedAll == r.Entries {
		t.Fatalf("report %+v, %v", r, err)
	}
	list, _ := List(p.disk.dir)
	if list[0].Good() || !strings.Contains(list[0].Failed, r.Damaged[0]) {
		t.Errorf("listed as %+v", list[0])
	}
	must(t, flip(p, chunkName(b.Chunks[0].ID), 500))
	if r, err := p.Verify(t.Context(), env.ID, nil); err != nil || r.DamagedAll != 0 {
		t.Errorf("report %+v, %v", r, err)
	}
	if list, _ := List(p.disk.dir); !list[0].Good() || !list[0].Verified.After(env.Verified) {
		t.Errorf("listed as %+v", list[0])
	}
}

// Swapped bundles and swapped chunks are refused, and the backups stay in the list. Swapped envelopes are repaired.
func TestSwappedFiles(t *testing.T) {
	p, _ := newPool(t)
	a := save(t, p, odd(), Meta{Box: "main"}, nil, nil)
	other := odd()
	other.regular("more", []byte("more"))
	b := save(t, p, other, Meta{Box: "main"}, nil, nil)
	swap := func(x, y string) {
		must(t, os.Rename(p.disk.path(x), p.disk.path("saved")))
		must(t, os.Rename(p.disk.path(y), p.disk.path(x)))
		must(t, os.Rename(p.disk.path("saved"), p.disk.path(y)))
	}
	refused := func(what string) {
		t.Helper()
		for _, id := range []string{a.ID, b.ID} {
			if usable(t, p, id) {
				t.Errorf("%s: %s is usable", what, id)
			}
		}
		if list, err := List(p.disk.dir); err != nil || len(list) != 2 {
			t.Errorf("%s: %d are listed, %v", what, len(list), err)
		}
	}
	swap(bundleName(a.ID), bundleName(b.ID))
	refused("bundles")
	swap(envelopeName(a.ID), envelopeName(b.ID))
	refused("both")
	if list, _ := List(p.disk.dir); list[0].Damaged == "" || list[0].ID != a.ID {
		t.Errorf("listed as %+v", list[0])
	}
	swap(bundleName(a.ID), bundleName(b.ID)) // now only the envelopes are swapped
	for _, id := range []string{a.ID, b.ID} {
		if r, err := p.Verify(t.Context(), id, nil); err != nil || !strings.Contains(r.Repaired, "describes the backup ") {
			t.Errorf("%+v, %v", r, err)
		}
	}
	swap(envelopeName(a.ID), envelopeName(b.ID))
	swap(envelopeName(a.ID), envelopeName(b.ID))
	ca, cb := load(t, p, a.ID).Chunks[0].ID, load(t, p, b.ID).Chunks[0].ID
	swap(chunkName(ca), chunkName(cb))
	refused("chunks")
}

// Bundles that were not made with the pool's key are refused: those of another pool, and those of somebody who knows
// only the pool's public recipient.
func TestBundlesOfAnotherPoolAreRefused(t *testing.T) {
	p, identity := newPool(t)
	env := save(t, p, odd(), Meta{Box: "main"}, nil, nil)
	other, _ := newPool(t)
	foreign := save(t, other, odd(), Meta{Box: "main", Label: "foreign"}, nil, nil)

	// The stranger makes everything as this program does, but knows only the recipient of the pool, so that the keys
	// of its HMACs are its own.
	stranger, err := Create(t.Context(), t.TempDir()+"/x", []Recipient{{Recipient: identity.Recipient().String()}})
	must(t, err)
	own := *stranger.secrets
	own.identity = p.secrets.identity // only its public half is used to write
	stranger.secrets = &own
	forged := save(t, stranger, odd(), Meta{Box: "main", Label: "forged"}, nil, nil)

	for _, from := range []struct {
		p   *Pool
		env *Envelope
	}{{other, foreign}, {stranger, forged}} {
		for _, name := range files(t, from.p) {
			if name != keyFile && name != recipientsFile {
				data, err := os.ReadFile(from.p.disk.path(name))
				must(t, err)
				must(t, p.disk.writeFile(t.Context(), name, data))
			}
		}
		if usable(t, p, from.env.ID) {
			t.Errorf("%s is usable", from.env.ID)
		}
		// The bundle is refused even with an envelope that was made with the key of the pool.
		e := *from.env
		must(t, p.writeEnvelope(t.Context(), &e))
		if usable(t, p, from.env.ID) {
			t.Errorf("%s is usable with an envelope of this pool", from.env.ID)
		}
	}
	if !usable(t, p, env.ID) {
		t.Error("the pool's own backup is not usable")
	}
}

// Get returns single files, hard links included, and refuses a path that is not in the backup.
func TestGet(t *testing.T) {
	p, _ := newPool(t)
	for _, f := range []*forest{odd(), large()} {
		b := load(t, p, save(t, p, f, Meta{}, nil, nil).ID)
		for _, want := range f.files {
			e, r, err := b.Get(t.Context(), want.Path)
			must(t, err)
			if string(e.Path) != string(want.Path) || e.Type != want.Type {
				t.Errorf("Get(%q) returns %q", want.Path, e.Path)
			}
			if string(want.Path) == "d/link" {
				want.data = []byte("xattrs")
			}
			if r == nil {
				if want.Digest != "" {
					t.Errorf("%q has no data", want.Path)
				}
				continue
			}
			data, err := io.ReadAll(r)
			if must(t, err); !bytes.Equal(data, want.data) {
				t.Errorf("%q has other data", want.Path)
			}
			must(t, r.Close())
		}
		if _, _, err := b.Get(t.Context(), []byte("none")); err == nil {
			t.Error("a missing path is found")
		}
	}
}

// FuzzBundle checks that the parser returns for any plaintext, and accepts none that was not made with the key.
func FuzzBundle(f *testing.F) {
	p, _ := newPool(f)
	b := load(f, p, save(f, p, odd(), Meta{Box: "main"}, nil, nil).ID)
	plain := make([]byte, 1<<20)
	n, err := b.spool.ReadAt(plain, 0)
	if err != io.EOF {
		f.Fatal(err)
	}
	f.Add(plain[:n])
	f.Add(append(plain[:n:n], `{"mac":"00"}`+"\n"...))
	for _, line := range bytes.SplitAfter(plain[:n], []byte("\n")) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := p.secrets.parseLines(bytes.NewReader(data), io.Discard, newChecker(nil)); err == nil {
			t.Error("a bundle without a valid HMAC is accepted")
		}
		l := &line{}
		if l.parse(data) == nil {
			if again := appendLine(nil, l.raw, l.refs); new(line).parse(again) != nil {
				t.Errorf("%q is accepted, %q is not", data, again)
			}
		}
	})
}

// FuzzEnvelope checks that an envelope that is accepted is the same when it is written again.
func FuzzEnvelope(f *testing.F) {
	p, _ := newPool(f)
	f.Add(save(f, p, odd(), Meta{Box: "main", Label: "a-b"}, nil, nil).encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := parseEnvelope(data); err == nil && !bytes.Equal(e.encode(), data) {
			t.Errorf("%q becomes %q", data, e.encode())
		}
	})
}
