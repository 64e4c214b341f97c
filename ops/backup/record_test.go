package backup

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// A backup whose envelope is changed, missing, empty or of an unknown format is listed as damaged, stays usable, and
// loses no data to Sweep or Delete. Verify writes the envelope again from the bundle.
func TestVerifyWritesTheEnvelopeAgain(t *testing.T) {
	replace := func(from, to string) func(t *testing.T, p *Pool, path string) {
		return func(t *testing.T, _ *Pool, path string) {
			data, err := os.ReadFile(path)
			must(t, err)
			if !bytes.Contains(data, []byte(from)) {
				t.Fatalf("%s has no %s", data, from)
			}
			must(t, os.WriteFile(path, bytes.Replace(data, []byte(from), []byte(to), 1), 0o600))
		}
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, p *Pool, path string)
		want   string
		sealed bool // List accepts it, since it has no key to check the seal
	}{
		"a changed digit": {replace(`"bytes": 1`, `"bytes": 2`), "its sum is wrong", false},
		"a changed text":  {replace(`"box": "main"`, `"box": "mine"`), "its sum is wrong", false},
		"missing":         {func(t *testing.T, _ *Pool, path string) { must(t, os.Remove(path)) }, "is missing", false},
		"empty":           {func(t *testing.T, _ *Pool, path string) { must(t, os.Truncate(path, 0)) }, "is damaged", false},
		"unknown format":  {replace(`"format": 1`, `"format": 2`), "format 2; this program reads format 1", false},
		"unknown field":   {replace(`"format": 1`, `"colour": 1, "format": 1`), "is damaged", false},
		"a symlink": {func(t *testing.T, _ *Pool, path string) {
			must(t, os.Rename(path, path+".away"))
			must(t, os.Symlink(path+".away", path))
		}, "not a regular file", false},
		"sealed with another key": {func(t *testing.T, p *Pool, path string) {
			other, _ := newPool(t)
			list, err := List(p.disk.dir)
			must(t, err)
			other.secrets.seal(&list[0])
			must(t, os.WriteFile(path, list[0].encode(), 0o600))
		}, "was not made with the key of these backups", true},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := newPool(t)
			f := first()
			f.regular("more", make([]byte, 100_000)) // so that the number of bytes begins with 1
			env := save(t, p, f, Meta{Box: "main", Disk: "disk", Lock: "lock"}, nil, nil)
			path := p.disk.path(envelopeName(env.ID))
			c.damage(t, p, path)
			defer os.Remove(path + ".away")
			list, err := List(p.disk.dir)
			must(t, err)
			if len(list) != 1 || !c.sealed && (list[0].Good() || !list[0].Repairable || !strings.Contains(list[0].Damaged, c.want)) {
				t.Errorf("listed as %+v", list)
			}
			if p.Sound(t.Context(), &list[0]) {
				t.Error("the backup counts as good")
			}
			must(t, p.Sweep(t.Context()))
			if err := p.Delete(t.Context(), env.ID, false, nil); err == nil {
				t.Error("the only backup is deleted")
			}
			compare(t, load(t, p, env.ID), f)
			r, err := p.Verify(t.Context(), env.ID, nil)
			if err != nil || !strings.Contains(r.Repaired, c.want) || len(r.NotChecked) > 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if list, err = List(p.disk.dir); err != nil || len(list) != 1 || !p.Sound(t.Context(), &list[0]) {
				t.Fatalf("listed as %+v, %v", list, err)
			}
			if e := list[0]; e.Entries != env.Entries || e.Bytes != env.Bytes || e.Digest != env.Digest || e.Disk != "disk" || e.Chunks != env.Chunks || len(e.Recipients) != 1 {
				t.Errorf("the envelope is %+v instead of %+v", e, *env)
			}
			if r, err := p.Verify(t.Context(), env.ID, nil); err != nil || r.Repaired != "" {
				t.Errorf("the second time: %+v, %v", r, err)
			}
			os.Remove(path + ".away")
			wantClean(t, p, "at the end")
		})
	}
}

// An envelope of an earlier version has no sum, and is accepted.
func TestEnvelopeWithoutASum(t *testing.T) {
	p, _ := newPool(t)
	env := save(t, p, first(), Meta{Box: "main"}, nil, nil)
	env.Sum = ""
	must(t, os.WriteFile(p.disk.path(envelopeName(env.ID)), env.encode(), 0o600))
	if list, err := List(p.disk.dir); err != nil || len(list) != 1 || !p.Sound(t.Context(), &list[0]) {
		t.Errorf("listed as %+v, %v", list, err)
	}
}

// If the bundle is damaged and the envelope is missing, Verify writes no new envelope.
func TestVerifyOfADamagedBundleWithoutAnEnvelope(t *testing.T) {
	p, _ := newPool(t)
	env := save(t, p, first(), Meta{Box: "main"}, nil, nil)
	must(t, os.Remove(p.disk.path(envelopeName(env.ID))))
	must(t, flip(p, bundleName(env.ID), 300))
	if _, err := p.Verify(t.Context(), env.ID, nil); err == nil {
		t.Error("Verify finds a damaged bundle good")
	}
	if list, err := List(p.disk.dir); err != nil || len(list) != 1 || list[0].Good() {
		t.Errorf("listed as %+v, %v", list, err)
	}
}
