package backup

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// workers is how many goroutines compress or decompress chunks. Each needs about 20 MiB.
const workers = 2

// fetcher loads the chunks of a bundle ahead of its reader.
type fetcher struct {
	b      *Bundle
	ctx    context.Context
	cancel context.CancelFunc
	queue  chan chan loaded // in the order of the loads
	free   chan []byte
	all    sync.WaitGroup
	recent recent
	failed map[int32]error // chunks that could not be read
}

type loaded struct {
	number int32
	plain  []byte
	err    error
}

// fetch begins to load chunks. The caller must get them in the order of loads. In between it may again get one of the
// last keepRecent chunks.
func (b *Bundle) fetch(ctx context.Context, loads []int32) (*fetcher, error) {
	f := &fetcher{b: b, queue: make(chan chan loaded, 1), free: make(chan []byte, keepRecent+2*workers), failed: map[int32]error{}}
	f.ctx, f.cancel = context.WithCancel(ctx)
	size := int64(0)
	for _, c := range b.Chunks {
		size = max(size, c.Size)
	}
	type job struct {
		number int32
		done   chan loaded
	}
	jobs := make(chan job)
	for range min(workers, len(loads)) {
		c, err := b.pool.newCodec()
		if err != nil {
			f.close()
			return nil, err
		}
		f.all.Go(func() {
			defer c.close()
			for j := range jobs {
				var buf []byte
				select {
				case buf = <-f.free:
				default:
					buf = make([]byte, 0, size) // always the same size, so that it can be used again
				}
				plain, err := b.chunk(c, j.number, buf)
				j.done <- loaded{j.number, plain, err}
			}
		})
	}
	f.all.Go(func() {
		defer close(jobs)
		for _, number := range loads {
			done := make(chan loaded, 1)
			select {
			case f.queue <- done:
			case <-f.ctx.Done():
				return
			}
			select {
			case jobs <- job{number, done}:
			case <-f.ctx.Done():
				return
			}
		}
	})
	return f, nil
}

// chunk reads a chunk and compares its size with the size in the bundle.
func (b *Bundle) chunk(c *codec, number int32, buf []byte) ([]byte, error) {
	want := b.Chunks[number]
	plain, _, err := c.read(want.ID, buf)
	if err == nil && int64(len(plain)) != want.Size {
		err = fmt.Errorf("chunk %s is %w: it has %d bytes instead of %d", want.ID, errDamaged, len(plain), want.Size)
	}
	return plain, err
}

// get returns a chunk; it is valid until the next call.
func (f *fetcher) get(number int32) ([]byte, error) {
	i := f.recent.find(number)
	if i < 0 {
		var l loaded
		select {
		case done := <-f.queue:
			select {
			case l = <-done:
			case <-f.ctx.Done():
				return nil, f.ctx.Err()
			}
		case <-f.ctx.Done():
			return nil, f.ctx.Err()
		}
		if l.number != number {
			return nil, fmt.Errorf("chunk %d was loaded, %d is needed", l.number, number)
		}
		if l.err != nil {
			f.failed[number] = l.err
		}
		if old := f.recent.add(number, l.plain); old != nil {
			select {
			case f.free <- old:
			default:
			}
		}
		i = len(f.recent.numbers) - 1
	}
	if err := f.failed[number]; err != nil {
		return nil, err
	}
	return f.recent.plain[i], nil
}

// copy writes the data of a file to w.
func (f *fetcher) copy(w io.Writer, refs []ref) error {
	for _, r := range refs {
		plain, err := f.get(int32(r[0]))
		if err != nil {
			return err
		}
		if _, err := w.Write(plain[r[1] : r[1]+r[2]]); err != nil {
			return err
		}
	}
	return nil
}

// close stops the goroutines of the fetcher and waits for them.
func (f *fetcher) close() {
	f.cancel()
	f.all.Wait()
}
