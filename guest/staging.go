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

// stagedBeside is how many releases are staged at a time. Unpacking keeps one CPU busy, and a box has two.
const stagedBeside = 2

// stageAhead begins to stage the releases of a transaction, before their turn: it is most of the work, and changes
// nothing current. What comes of each is told on its change's staged. stop ends what is still at work, and returns
// when nothing is.
func (g *Guest) stageAhead(ctx context.Context, todo []*change) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	slots := make(chan struct{}, stagedBeside)
	var work sync.WaitGroup
	for _, ch := range todo {
		if ch.have == nil {
			work.Go(func() { ch.staged <- ch.stageInTime(ctx, todo, slots) })
		}
	}
	return func() {
		cancel()
		work.Wait()
	}
}

// stageInTime stages when what the component is installed by is applied, its objects are here, and a slot is free.
func (ch *change) stageInTime(ctx context.Context, todo []*change, slots chan struct{}) error {
	for _, other := range todo {
		if slices.Contains(component.Dependents[other.c.Name()], ch.c.Name()) {
			select {
			case <-other.applied:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if err := ch.arrived(ctx); err != nil {
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

// arriveTime is how long a missing object is waited for while nothing is received: the sender has not connected yet.
const arriveTime = 15 * time.Second

// arrived waits for the objects of a component to be here, where they are still on their way. Which one never came,
// staging tells.
func (ch *change) arrived(ctx context.Context) error {
	if !ch.tx.Arriving {
		return nil
	}
	ch.event(protocol.PhaseUpload, protocol.Started, "")
	for last := time.Now(); ; {
		receiving, err := ch.g.Locked(layout.ReceiveMutex)
		if err != nil {
			return err
		}
		if receiving { // asked before we look: what ends in between is seen by the look
			last = time.Now()
		}
		switch here, err := ch.g.Objects().Has(ch.want.Objects()...); {
		case err != nil:
			return err
		case here:
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

// stage makes the release in a directory beside those that are there.
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
	// One sync of everything is faster than one for each of ten thousand files.
	return ch.g.Machine.Sync(ctx)
}

// dropStaged removes what a transaction has staged and not given its name yet.
func (g *Guest) dropStaged(tx protocol.Transaction) error {
	for _, c := range component.All() {
		if err := g.RemoveAll(g.stagingPath(c, tx.ID)); err != nil {
			return err
		}
	}
	return nil
}

// seal makes a staged tree readable by all and writable by root alone, so that no agent updates itself.
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
