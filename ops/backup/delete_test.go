package backup

import (
	"os"
	"slices"
	"strings"
	"testing"

	"hermes-box/ops/fault"
)

// separate returns a tree of three files, each in a chunk of its own.
func separate(seed int) *forest {
	f := &forest{}
	for i, name := range []string{"a", "b", "c"} {
		f.regular(name, noise(10*seed+i, smallFile+1))
	}
	return f
}

// rot changes a byte of the last chunk of a backup, whose size stays. It returns the name of the chunk.
func rot(t *testing.T, p *Pool, id string) string {
	t.Helper()
	chunks := load(t, p, id).Chunks
	name := chunkName(chunks[len(chunks)-1].ID)
	must(t, flip(p, name, 300))
	return name
}

func listedIDs(t *testing.T, p *Pool) (ids []string) {
	t.Helper()
	list, err := p.listed()
	must(t, err)
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return ids
}

// refuses fails the test unless the deletion of a backup is refused with an error and a hint that have these words.
func refuses(t *testing.T, p *Pool, id string, words ...string) {
	t.Helper()
	err := p.Delete(t.Context(), id, false, nil)
	if fault.CodeOf(err) != fault.PreflightFailed || !slices.Contains(listedIDs(t, p), id) {
		t.Fatalf("delete %s: %v; listed are %v", id, err, listedIDs(t, p))
	}
	for _, word := range append(words, "hermes-box backup delete "+id+" --force") {
		if !strings.Contains(err.Error()+"; "+fault.HintOf(err), word) {
			t.Errorf("delete %s: %v; hint %s; want %q in it", id, err, fault.HintOf(err), word)
		}
	}
}

// Before the last but one good backup is deleted, the one that remains is read to its end: it may have rotted.
func TestDeleteReadsTheBackupThatRemains(t *testing.T) {
	p, _ := newPool(t)
	a, b := save(t, p, separate(1), Meta{}, nil, nil), save(t, p, separate(2), Meta{}, nil, nil)
	rot(t, p, b.ID)
	refuses(t, p, a.ID, "the only good backup", b.ID+" is damaged", "hermes-box backup export "+a.ID)
	if list, _ := p.listed(); list[1].Failed == "" {
		t.Error("the damage that was found is not recorded")
	}
	must(t, p.Delete(t.Context(), b.ID, false, nil)) // a is good

	c := save(t, p, separate(3), Meta{}, nil, nil)
	var read []string
	must(t, p.Delete(t.Context(), a.ID, false, func(e *Envelope) func(int64) {
		read = append(read, e.ID)
		return func(int64) {}
	}))
	if !slices.Equal(read, []string{c.ID}) {
		t.Errorf("%v were read instead of %s", read, c.ID)
	}
}

// An error of the system while the backup that remains is read proves nothing: nothing is deleted.
func TestDeleteStopsIfTheOtherCannotBeRead(t *testing.T) {
	p, _ := newPool(t)
	a, b := save(t, p, separate(1), Meta{}, nil, nil), save(t, p, separate(2), Meta{}, nil, nil)
	p.disk.before = func(op, path string) error {
		if op == "create" {
			return os.ErrPermission // of the spool
		}
		return nil
	}
	if err := p.Delete(t.Context(), a.ID, false, nil); err == nil {
		t.Error("a backup was deleted although the other one could not be read")
	}
	if !slices.Equal(listedIDs(t, p), []string{a.ID, b.ID}) {
		t.Errorf("listed are %v", listedIDs(t, p))
	}
}

// The last good backup of each data disk is kept, whatever backups there are of others.
func TestDeleteKeepsTheLastOfEachDisk(t *testing.T) {
	p, _ := newPool(t)
	old := save(t, p, separate(1), Meta{Disk: "old"}, nil, nil)
	a, b := save(t, p, separate(2), Meta{Disk: "new"}, nil, nil), save(t, p, separate(3), Meta{Disk: "new"}, nil, nil)
	refuses(t, p, old.ID, "the only good backup of its data disk")
	must(t, flip(p, envelopeName(old.ID), 30)) // then only the bundle says which disk it is of
	refuses(t, p, old.ID, "the only good backup of its data disk")
	must(t, p.Delete(t.Context(), a.ID, false, nil))
	must(t, p.Delete(t.Context(), old.ID, true, nil))
	refuses(t, p, b.ID)
}

// A damaged backup is kept while files can be read from it and no other one is good.
func TestDeleteKeepsADamagedBackupWithFiles(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, p *Pool, id string){
		"a chunk rotted, which was found": func(t *testing.T, p *Pool, id string) {
			rot(t, p, id)
			if _, err := p.Verify(t.Context(), id, nil); err == nil {
				t.Error("the damage is not found")
			}
		},
		"a chunk is missing": func(t *testing.T, p *Pool, id string) { must(t, os.Remove(p.disk.path(rot(t, p, id)))) },
		"a chunk was cut":    func(t *testing.T, p *Pool, id string) { must(t, os.Truncate(p.disk.path(rot(t, p, id)), 100)) },
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := newPool(t)
			a := save(t, p, separate(1), Meta{}, nil, nil)
			damage(t, p, a.ID)
			refuses(t, p, a.ID, "2 of its 3 files can still be restored", "hermes-box backup get "+a.ID)
			b := save(t, p, separate(2), Meta{}, nil, nil)
			must(t, p.Delete(t.Context(), a.ID, false, nil))
			for _, c := range load(t, p, b.ID).Chunks {
				must(t, flip(p, chunkName(c.ID), 300))
			}
			if _, err := p.Verify(t.Context(), b.ID, nil); err == nil {
				t.Error("the damage is not found")
			}
			must(t, p.Delete(t.Context(), b.ID, false, nil)) // no file can be read from it
		})
	}
}

// Retention does not count a backup with a chunk that was cut off.
func TestPruneChecksTheSizesOfChunks(t *testing.T) {
	p, _ := newPool(t)
	a, b := save(t, p, separate(1), Meta{}, nil, nil), save(t, p, separate(2), Meta{}, nil, nil)
	must(t, os.Truncate(p.disk.path(chunkName(load(t, p, b.ID).Chunks[0].ID)), 100))
	if deleted, err := p.Prune(t.Context(), 1); err != nil || len(deleted) != 0 || !usable(t, p, a.ID) {
		t.Errorf("deleted %v, %v", deleted, err)
	}
}
