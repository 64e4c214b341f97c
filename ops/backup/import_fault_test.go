package backup

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"filippo.io/age"

	"hermes-box/ops/fault"
)

// keepIn returns a function that stores artifacts in a cache, and keeps them with the backups of a pool.
func (d artifactDir) keepIn(p *Pool) PutArtifact {
	return func(ctx context.Context, digest string, size int64, r io.Reader) error {
		if err := d.put(ctx, digest, size, r); err != nil {
			return err
		}
		return p.KeepArtifact(ctx, Artifact{digest, digest, size}, d)
	}
}

// importInto imports a file into a pool, with its artifact.
func importInto(t *testing.T, p *Pool, file []byte, identity *age.X25519Identity) error {
	_, err := p.Import(t.Context(), bytes.NewReader(file), artifactDir(t.TempDir()).keepIn(p), nil, identity)
	return err
}

// reopen opens a pool again after a fault, and checks that all listed backups are good, and that own is among them.
func reopen(t *testing.T, dir string, identity *age.X25519Identity, own, where string) (p *Pool, listed map[string]bool) {
	t.Helper()
	p, err := Open(dir, identity)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	p.now = func() time.Time { return time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC) }
	list, err := p.listed()
	must(t, err)
	listed = map[string]bool{}
	for _, e := range list {
		if listed[e.ID] = true; !e.Good() || !usable(t, p, e.ID) {
			t.Errorf("%s: %s is listed and not good: %+v", where, e.ID, e)
		}
	}
	if !listed[own] {
		t.Errorf("%s: the backup that was there before is gone", where)
	}
	return p, listed
}

// After an import is killed at an operation on the disk, or the operation fails, the imported backup is either good or
// not listed, and the other backup stays. The same import then succeeds, or says that the backup exists already, and
// leaves nothing else behind.
func TestImportFailsAtEachOperation(t *testing.T) {
	t.Parallel()
	base, identity := newPool(t)
	own := save(t, base, first(), Meta{Box: "main"}, nil, nil)
	f := &forest{}
	f.regular("one", []byte("first"))
	f.regular("large", noise(7, 3<<20))
	file, env, _ := exported(t, f, identity.Recipient())
	failAtEach(t, func(fail diskFault) (ops []string) {
		p := copied(t, base, identity, fail, &ops)
		err := importInto(t, p, file, identity)
		where := fmt.Sprintf("after %d operations", len(ops))
		if fail == nil {
			must(t, err)
		}
		again, listed := reopen(t, p.disk.dir, identity, own.ID, where)
		if err == nil && !listed[env.ID] {
			t.Errorf("%s: the imported backup is not listed", where)
		}
		must(t, again.Sweep(t.Context())) // as the command does first
		if err := importInto(t, again, file, identity); listed[env.ID] != (fault.CodeOf(err) == fault.AlreadyExists) || !listed[env.ID] && err != nil {
			t.Errorf("%s: the same import again: %v", where, err)
		}
		if _, listed = reopen(t, p.disk.dir, identity, own.ID, where); len(listed) != 2 {
			t.Errorf("%s: listed at the end: %v", where, listed)
		}
		must(t, again.Sweep(t.Context()))
		wantClean(t, again, where)
		return ops
	})
}

// imported adds an exported backup to a pool, and returns its id.
func imported(t *testing.T, p *Pool, identity *age.X25519Identity) string {
	t.Helper()
	f := &forest{}
	f.regular("one", []byte("first"))
	file, env, _ := exported(t, f, identity.Recipient())
	must(t, importInto(t, p, file, identity))
	return env.ID
}

// The undo of a restore removes the backup that the restore has imported. After it is killed at an operation on the
// disk, or the operation fails, the imported backup is either good or not listed, and the other backup stays. The same
// undo then succeeds.
func TestUndoOfAnImportFailsAtEachOperation(t *testing.T) {
	t.Parallel()
	base, identity := newPool(t)
	own := save(t, base, first(), Meta{Box: "main"}, nil, nil)
	id := imported(t, base, identity)
	failAtEach(t, func(fail diskFault) (ops []string) {
		p := copied(t, base, identity, fail, &ops)
		err := p.unlist(id)
		where := fmt.Sprintf("after %d operations", len(ops))
		if fail == nil {
			must(t, err)
		}
		again, listed := reopen(t, p.disk.dir, identity, own.ID, where)
		if err == nil && listed[id] {
			t.Errorf("%s: the backup is listed after its undo", where)
		}
		must(t, Unlist(p.disk.dir, id))
		if _, listed = reopen(t, p.disk.dir, identity, own.ID, where); len(listed) != 1 {
			t.Errorf("%s: listed at the end: %v", where, listed)
		}
		must(t, again.Sweep(t.Context()))
		wantClean(t, again, where)
		return ops
	})
}

// If a restore has made the pool, its undo removes the pool. After the undo is killed at an operation on the disk, or
// the operation fails, no damaged backup is listed, and the same undo then succeeds and leaves nothing.
func TestUndoOfANewPoolFailsAtEachOperation(t *testing.T) {
	t.Parallel()
	base, identity := newPool(t)
	id := imported(t, base, identity)
	failAtEach(t, func(fail diskFault) (ops []string) {
		p := copied(t, base, identity, fail, &ops)
		dir := p.disk.dir
		err := p.unlist(id)
		if err == nil {
			err = p.discard(t.Context())
		}
		where := fmt.Sprintf("after %d operations", len(ops))
		if fail == nil {
			must(t, err)
		}
		if list, err := List(dir); err != nil || len(list) > 1 || len(list) == 1 && !list[0].Good() {
			t.Errorf("%s: listed as %+v, %v", where, list, err)
		}
		if err := Unlist(dir, id); err != nil {
			t.Errorf("%s: the undo again: %v", where, err)
		}
		if err := Discard(t.Context(), dir); err != nil {
			t.Errorf("%s: the undo again: %v", where, err)
		}
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: the directory is still there: %v", where, err)
		}
		return ops
	})
}
