package backup

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"hermes-box/internal/race"
)

// story changes a pool that has one backup: it makes another one, writes the key again, and lets retention delete the
// first.
func story(t testing.TB, p *Pool, previous *Bundle) error {
	f := changed()
	stream, _ := f.stream(t, func(path string) bool { return path == "empty" || path == "same" })
	if _, err := p.Write(t.Context(), bytes.NewReader(stream), Meta{Box: "main"}, previous, nil); err != nil {
		return err
	}
	if err := p.Rewrite(t.Context(), p.Recipients()); err != nil {
		return err
	}
	_, err := p.Prune(t.Context(), 1)
	return err
}

func first() *forest {
	f := odd()
	f.broken = nil
	f.problems = nil
	return f
}

func changed() *forest {
	f := first()
	f.regular("new", []byte("new"))
	f.regular("big", noise(1, 2<<20))
	return f
}

var errKilled = errors.New("killed")

// faults are the ways in which operations on the disk fail. The parameter n is the number of an operation. The
// parameter at is the number of the first operation that fails.
var faults = map[string]func(n, at int, op string) error{
	"killed": func(n, at int, op string) error {
		if n >= at { // after a kill nothing is done
			return errKilled
		}
		return nil
	},
	"disk full": func(n, at int, op string) error {
		if n >= at && (op == "create" || op == "write" || op == "mkdir" || op == "sync") {
			return syscall.ENOSPC
		}
		return nil
	},
	"one error": func(n, at int, op string) error {
		if n == at {
			return syscall.EIO
		}
		return nil
	},
}

// After a backup with retention is killed at an operation on the disk, or the operation fails, at least one backup is
// listed, all listed backups are good, and the same command then succeeds and leaves nothing behind. A run without
// faults gives the list of the operations, since all go through type disk.
func TestFailAtEachOperation(t *testing.T) {
	t.Parallel()
	base, identity := newPool(t)
	env := save(t, base, first(), Meta{Box: "main"}, nil, nil)
	ops := failAtEach(t, func(fault diskFault) []string { return run(t, base, identity, env.ID, fault) })
	for _, op := range []string{"create", "write", "sync", "rename", "mkdir", "syncdir", "remove"} {
		if !slices.ContainsFunc(ops, func(o string) bool { return strings.HasPrefix(o, op+" ") }) {
			t.Errorf("the story has no operation %s", op)
		}
	}
}

// diskFault returns the error of the operation with the number n; nil for none.
type diskFault func(n int, op string) error

// failAtEach calls run without faults, and then with each of the faults at each operation on the disk. run returns the
// operations.
func failAtEach(t *testing.T, run func(diskFault) (ops []string)) []string {
	t.Helper()
	ops := run(nil)
	for name, fault := range faults {
		if name == "disk full" && !slices.ContainsFunc(ops, func(o string) bool { return strings.HasPrefix(o, "write ") }) {
			continue
		}
		hit, step := 0, race.Every(9)
		if name == "one error" { // the slowest, and it seldom finds what the others do not
			step *= 3
		}
		for at := 0; at < len(ops); at += step {
			failed := false
			run(func(n int, op string) error {
				err := fault(n, at, op)
				failed = failed || err != nil
				return err
			})
			if failed {
				hit++
			}
		}
		t.Logf("%s: %d of %d operations", name, hit, len(ops))
		if hit < len(ops)/step*2/3 {
			t.Errorf("%s: only %d of %d operations failed", name, hit, len(ops))
		}
	}
	return ops
}

// copied opens a copy of a pool. Each operation on its disk is appended to ops, and returns the error of fault.
func copied(t *testing.T, base *Pool, identity *age.X25519Identity, fault diskFault, ops *[]string) *Pool {
	t.Helper()
	dir := t.TempDir() + "/pool"
	must(t, os.CopyFS(dir, os.DirFS(base.disk.dir)))
	p, err := Open(dir, identity)
	must(t, err)
	p.now = func() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) }
	p.disk.before = faulty(fault, ops)
	return p
}

// faulty returns a function for disk.before that appends each operation to ops, and returns the error of fault.
func faulty(fault diskFault, ops *[]string) func(op, path string) error {
	var mu sync.Mutex
	return func(op, path string) error {
		mu.Lock()
		defer mu.Unlock()
		*ops = append(*ops, op+" "+path)
		if fault == nil {
			return nil
		}
		return fault(len(*ops)-1, op)
	}
}

// run runs the story on a copy of a pool, with faults, and then without. It returns the operations on the disk.
func run(t *testing.T, base *Pool, identity *age.X25519Identity, id string, fault diskFault) (ops []string) {
	t.Helper()
	p := copied(t, base, identity, fault, &ops)
	dir, before := p.disk.dir, p.disk.before
	p.disk.before = nil
	b, err := p.Load(t.Context(), id)
	must(t, err)
	defer b.Close()
	p.disk.before = before
	err = story(t, p, b)
	if fault == nil {
		must(t, err)
		return ops
	}
	where := fmt.Sprintf("after %d operations", len(ops))

	again, err := Open(dir, identity)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	again.now = func() time.Time { return time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC) }
	list, err := again.listed()
	must(t, err)
	if len(list) == 0 {
		t.Errorf("%s: no backup is left", where)
	}
	for _, e := range list {
		if !e.Good() || !usable(t, again, e.ID) {
			t.Errorf("%s: %s is listed and not good: %+v", where, e.ID, e)
		}
	}
	previous := load(t, again, list[len(list)-1].ID)
	if err := story(t, again, previous); err != nil {
		t.Errorf("%s: the same command run again: %v", where, err)
	}
	if list, _ = again.listed(); len(list) != 1 || !usable(t, again, list[0].ID) {
		t.Errorf("%s: at the end %+v", where, list)
	}
	wantClean(t, again, where)
	return ops
}

// wantClean checks that a pool has exactly the files that its listed backups need.
func wantClean(t *testing.T, p *Pool, where string) {
	t.Helper()
	want := map[string]bool{keyFile: true, recipientsFile: true, passphraseFile: true}
	list, err := List(p.disk.dir)
	must(t, err)
	for _, e := range list {
		want[bundleName(e.ID)], want[envelopeName(e.ID)] = true, true
		b, err := p.Load(t.Context(), e.ID)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		for _, c := range b.Chunks {
			want[chunkName(c.ID)] = true
		}
		for _, a := range b.Artifacts {
			if p.HasArtifact(a) {
				name, _ := artifactName(a.Digest)
				want[name] = true
			}
		}
		b.Close()
	}
	for _, name := range files(t, p) {
		if !want[name] {
			t.Errorf("%s: %s is left", where, name)
		}
		delete(want, name)
	}
	delete(want, passphraseFile)
	for name := range want {
		t.Errorf("%s: %s is missing", where, name)
	}
}

// After random sequences of backups, damage, deletion and retention, each backup that is listed as good is usable, and
// the newest good ones are kept.
func TestRetentionOverRandomHistories(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 8 / race.Every(4) {
		p, _ := newPool(t)
		good := []string{} // ids of those that must be usable, oldest first
		bad := map[string]bool{}
		for step := range 15 {
			var what string
			switch k := r.IntN(10); {
			case k < 5:
				f := &forest{}
				for i := range r.IntN(6) {
					f.regular(fmt.Sprintf("f%d", i), noise(r.IntN(8), 2000))
				}
				env := save(t, p, f, Meta{Box: "main"}, nil, nil)
				good = append(good, env.ID)
				what = "backup " + env.ID
			case k < 7:
				keep := r.IntN(4)
				_, err := p.Prune(t.Context(), keep)
				if len(bad) == 0 {
					must(t, err)
				}
				good = good[max(0, len(good)-max(keep, 1)):]
				what = fmt.Sprintf("prune %d", keep)
			case k < 9 && len(good) > 0:
				i := r.IntN(len(good))
				err := p.Delete(t.Context(), good[i], false, nil)
				what = fmt.Sprintf("delete %s: %v", good[i], err)
				if len(good) == 1 && err == nil {
					t.Errorf("step %d: the only good backup was deleted", step)
				}
				if list, _ := List(p.disk.dir); !slices.ContainsFunc(list, func(e Envelope) bool { return e.ID == good[i] }) {
					good = slices.Delete(good, i, i+1)
				}
			case len(good) > 1:
				i := r.IntN(len(good))
				must(t, flip(p, bundleName(good[i]), 300))
				// Retention knows of the damage only after it was found.
				_, err := p.Verify(t.Context(), good[i], nil)
				what = fmt.Sprintf("damage %s: %v", good[i], err)
				bad[good[i]] = true
				good = slices.Delete(good, i, i+1)
			}
			list, err := List(p.disk.dir)
			must(t, err)
			for _, id := range good {
				if !slices.ContainsFunc(list, func(e Envelope) bool { return e.ID == id && e.Good() }) || !usable(t, p, id) {
					t.Fatalf("step %d, %s: %s is lost", step, what, id)
				}
			}
			for _, e := range list {
				if e.Good() && !slices.Contains(good, e.ID) {
					t.Fatalf("step %d, %s: %s is listed as good", step, what, e.ID)
				}
			}
		}
		for id := range bad {
			if err := p.Delete(t.Context(), id, false, nil); err != nil && !errors.Is(err, ErrKept) {
				t.Error(err)
			}
		}
		must(t, p.Sweep(t.Context()))
		wantClean(t, p, "at the end")
	}
}

// Retention keeps the newest complete backup besides newer partial ones. Sweep removes nothing while an envelope is
// damaged.
func TestPrune(t *testing.T) {
	p, _ := newPool(t)
	var ids []string
	for _, f := range []*forest{first(), first(), odd(), odd(), odd()} {
		ids = append(ids, save(t, p, f, Meta{}, nil, nil).ID)
	}
	deleted, err := p.Prune(t.Context(), 2)
	must(t, err)
	if !slices.Equal(deleted, []string{ids[2], ids[0]}) {
		t.Errorf("deleted %v of %v", deleted, ids)
	}
	must(t, flip(p, envelopeName(ids[1]), 30))
	before := len(files(t, p))
	if err := p.Sweep(t.Context()); err != nil || len(files(t, p)) != before {
		t.Errorf("Sweep with a damaged envelope: %v, %d files instead of %d", err, len(files(t, p)), before)
	}
	if err := p.Delete(t.Context(), ids[1], false, nil); err == nil {
		t.Error("the only complete backup is deleted, because its envelope is damaged")
	}
	must(t, p.Delete(t.Context(), ids[1], true, nil))
	must(t, p.Delete(t.Context(), ids[3], false, nil))
	if err := p.Delete(t.Context(), ids[4], false, nil); err == nil {
		t.Error("the only good backup is deleted")
	}
	must(t, p.Delete(t.Context(), ids[4], true, nil))
	wantClean(t, p, "after all")
}

// Prune counts the backups of each disk separately: the backups of this box, those of an earlier box and imported ones
// do not push each other out.
func TestPruneCountsEachDisk(t *testing.T) {
	p, _ := newPool(t)
	var ids []string
	for _, b := range []struct {
		disk string
		of   *forest
	}{{"old", first()}, {"old", first()}, {"old", odd()}, {"new", first()}, {"imported", first()}, {"new", odd()}, {"new", first()}} { // odd is partial
		ids = append(ids, save(t, p, b.of, Meta{Disk: b.disk}, nil, nil).ID)
	}
	deleted, err := p.Prune(t.Context(), 1)
	must(t, err)
	if !slices.Equal(deleted, []string{ids[5], ids[3], ids[0]}) {
		t.Errorf("deleted %v of %v", deleted, ids)
	}
	for _, i := range []int{1, 4, 6} {
		if !usable(t, p, ids[i]) {
			t.Errorf("the kept backup %s cannot be used", ids[i])
		}
	}
}

// The only complete backup is not deleted while the others are partial.
func TestDeleteKeepsTheCompleteBackup(t *testing.T) {
	p, _ := newPool(t)
	complete := save(t, p, first(), Meta{}, nil, nil)
	partial := save(t, p, odd(), Meta{}, nil, nil)
	if err := p.Delete(t.Context(), complete.ID, false, nil); err == nil {
		t.Error("the only complete backup is deleted")
	}
	must(t, p.Delete(t.Context(), partial.ID, false, nil))
}

// A clock that was put back does not make the newest backup the oldest, whatever the times of the others. If those are
// more than a day ahead, the new backup gets the time of the clock.
func TestClockPutBack(t *testing.T) {
	for before, want := range map[time.Duration]string{
		time.Second: "20200101T000001Z", 23 * time.Hour: "20200101T230000Z", 24 * time.Hour: "20200102T000000Z",
		25 * time.Hour: "20200101T000000Z", 50 * 365 * 24 * time.Hour: "20200101T000000Z", 0: "20200101T000000Z",
	} {
		p, _ := newPool(t)
		now := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		old := now.Add(before - time.Second)
		if before == 0 { // the last time that an id can have
			old = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		}
		p.now = func() time.Time { return old }
		a := save(t, p, first(), Meta{}, nil, nil)
		p.now = func() time.Time { return now }
		b := save(t, p, first(), Meta{}, nil, nil)
		now = now.Add(time.Minute)
		c := save(t, p, first(), Meta{Label: "other"}, nil, nil)
		if b.ID != want || !c.Time.After(b.Time) {
			t.Errorf("%v before: %s and %s, want %s", before, b.ID, c.ID, want)
		}
		if list, err := p.listed(); err != nil || len(list) != 3 || list[0].ID != a.ID || list[2].ID != c.ID {
			t.Errorf("%v before: listed as %v, %v", before, list, err)
		}
		if _, err := p.Prune(t.Context(), 1); err != nil || !usable(t, p, c.ID) {
			t.Errorf("%v before: the newest is gone: %v", before, err)
		}
	}
}
