package guest

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// maxStaging is the largest number of releases that are staged at the same time. Each keeps one CPU busy; a box has
// four by default.
const maxStaging = 2

// stageAhead starts to stage the releases of a transaction that are not on the disk. Staging is most of the work, and
// changes nothing that is current. The result is sent on the staged channel of the change. stop cancels unfinished
// staging and waits until it has ended.
func (g *Guest) stageAhead(ctx context.Context, todo []*change) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	slots := make(chan struct{}, maxStaging)
	var work sync.WaitGroup
	for _, ch := range todo {
		if ch.have == nil {
			work.Go(func() { ch.staged <- ch.stageWhenReady(ctx, todo, slots) })
		}
	}
	return func() {
		cancel()
		work.Wait()
	}
}

// stageWhenReady stages a release when the components that it needs are applied, its objects have been received, and
// a slot is free.
func (ch *change) stageWhenReady(ctx context.Context, todo []*change, slots chan struct{}) error {
	for _, other := range todo {
		if slices.Contains(component.Dependents[other.c.Name()], ch.c.Name()) {
			select {
			case <-other.applied:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if err := ch.awaitObjects(ctx); err != nil {
		return err
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ch.event(protocol.PhaseStage, protocol.Started, "")
	if err := ch.stage(ctx); err != nil {
		return err
	}
	ch.event(protocol.PhaseStage, protocol.Done, "")
	return nil
}

// arriveTime is how long to wait for a missing object while nothing is being received, since the sender may not have
// connected yet.
const arriveTime = 15 * time.Second

// awaitObjects waits for the objects of a component if the host is still sending them. It returns nil even if one
// never arrives; staging then reports which.
func (ch *change) awaitObjects(ctx context.Context) error {
	if !ch.tx.Arriving {
		return nil
	}
	ch.event(protocol.PhaseUpload, protocol.Started, "")
	for last := time.Now(); ; {
		receiving, err := ch.g.Locked(layout.ReceiveMutex)
		if err != nil {
			return err
		}
		if receiving { // checked before the objects, since a receive that ends in between has stored them
			last = time.Now()
		}
		switch all, err := ch.g.Objects().Has(ch.want.Objects()...); {
		case err != nil:
			return err
		case all:
			ch.event(protocol.PhaseUpload, protocol.Done, "")
			return nil
		case time.Since(last) > arriveTime:
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stage makes the release in a temporary directory beside the other releases.
func (ch *change) stage(ctx context.Context) error {
	dir := ch.g.stagingPath(ch.c, ch.tx.ID)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := ch.c.Stage(ctx, ch.g.components(), ch.want, dir); err != nil {
		return err
	}
	if err := seal(dir); err != nil {
		return err
	}
	// One sync of all file systems is faster than one fsync for each of ten thousand files.
	return ch.g.Machine.Sync(ctx)
}

// removeStaged removes the releases that a transaction has staged and not renamed yet.
func (g *Guest) removeStaged(tx protocol.Transaction) error {
	for _, c := range component.All() {
		if err := g.RemoveAll(g.stagingPath(c, tx.ID)); err != nil {
			return err
		}
	}
	return nil
}

// seal makes a tree readable by all and writable by root only, so that no agent can update itself.
func seal(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm()&0o755 | 0o444
		if d.IsDir() || mode&0o111 != 0 {
			mode |= 0o555
		}
		if mode == info.Mode().Perm() {
			return nil
		}
		return os.Chmod(path, mode)
	})
}
