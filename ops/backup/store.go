package backup

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/restic/chunker"
)

// storer stores the chunks of one backup. Its methods are called by one goroutine; workers compress and write.
type storer struct {
	p        *Pool
	ctx      context.Context
	cancel   context.CancelCauseFunc
	previous *Bundle
	trusted  map[string]Chunk // chunks of the previous bundle, by id
	full     bool
	cuts     *chunker.Chunker

	jobs   chan job
	free   chan []byte // buffers of maxChunk bytes; there are only as many as fit into memory
	all    sync.WaitGroup
	closed bool

	syncing chan struct{} // holds one for each file being synced
	syncs   sync.WaitGroup

	open   []byte          // the pack being filled
	openAt int64           // its number; -1 if it has none yet
	reused map[int64]int64 // numbers in the previous bundle to numbers in this one
	good   map[int64]bool  // by number in the previous bundle: whether present found a good file
	reader *codec          // for present
	chunks []*Chunk        // by number; a worker sets the fields of those that it stores

	mu    sync.Mutex
	byID  map[string]*fate
	added int64
}

type job struct {
	chunk *Chunk
	plain []byte
}

// fate is the result of storing a chunk. Chunks with the same content share it.
type fate struct {
	stored int64
	read   int64
	fresh  bool // to be read back
}

// buffers is the number of buffers: one for the pack, one being filled, and one for each worker.
const buffers = 2 + workers

func (p *Pool) newStorer(ctx context.Context, previous *Bundle, full bool) (*storer, error) {
	s := &storer{p: p, previous: previous, full: full, trusted: map[string]Chunk{}, cuts: newChunker(p.secrets.cuts),
		jobs: make(chan job), free: make(chan []byte, buffers), syncing: make(chan struct{}, 8), openAt: -1, reused: map[int64]int64{}, good: map[int64]bool{},
		byID: map[string]*fate{}}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	if previous != nil {
		for _, c := range previous.Chunks {
			s.trusted[c.ID] = c
		}
	}
	for range buffers {
		s.free <- nil // made when it is needed
	}
	for range workers {
		c, err := p.newCodec()
		if err != nil {
			s.close()
			return nil, err
		}
		s.all.Go(func() {
			defer c.close()
			for j := range s.jobs {
				if err := s.ctx.Err(); err == nil {
					if err := s.do(c, j); err != nil {
						s.cancel(fmt.Errorf("store a chunk: %w", err))
					}
				}
				s.release(j.plain)
			}
		})
	}
	return s, nil
}

// close stops the workers and waits for them.
func (s *storer) close() {
	s.wait()
	if s.reader != nil {
		s.reader.close()
	}
	s.cancel(nil)
}

// buffer returns an empty buffer of maxChunk bytes; it waits for one.
func (s *storer) buffer() ([]byte, error) {
	select {
	case b := <-s.free:
		if b == nil {
			b = make([]byte, maxChunk)
		}
		return b[:maxChunk], nil
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
}

func (s *storer) release(b []byte) { s.free <- b[:0] }

// store gives a chunk the next number and hands it to the workers, with its buffer.
func (s *storer) store(plain []byte) (int64, error) {
	c := &Chunk{}
	s.chunks = append(s.chunks, c)
	return int64(len(s.chunks) - 1), s.send(job{c, plain})
}

// mark returns a mark for forget.
func (s *storer) mark() int { return len(s.chunks) }

// forget takes back the numbers of the chunks that were stored since the mark. All of these must be of the file that is
// dropped.
func (s *storer) forget(mark int) { s.chunks = s.chunks[:mark] }

func (s *storer) send(j job) error {
	select {
	case s.jobs <- j:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// room returns n+1 free bytes of the pack. The extra byte shows that a file is longer than n.
func (s *storer) room(n int) ([]byte, error) {
	if s.open != nil && len(s.open)+n > packSize {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	if s.open == nil {
		b, err := s.buffer()
		if err != nil {
			return nil, err
		}
		s.open = b[:0]
	}
	return s.open[len(s.open) : len(s.open)+n+1], nil
}

// pack keeps the first n bytes that room returned.
func (s *storer) pack(n int) ref {
	if s.openAt < 0 {
		s.openAt = int64(len(s.chunks))
		s.chunks = append(s.chunks, &Chunk{})
	}
	at := len(s.open)
	s.open = s.open[:at+n]
	return ref{s.openAt, int64(at), int64(n)}
}

// flush stores the pack.
func (s *storer) flush() error {
	if s.openAt < 0 {
		return nil
	}
	j := job{s.chunks[s.openAt], s.open}
	s.open, s.openAt = nil, -1
	return s.send(j)
}

// do stores one chunk, unless this backup has already stored one with the same content.
func (s *storer) do(c *codec, j job) error {
	id := s.p.secrets.chunkID(j.plain)
	j.chunk.ID, j.chunk.Size = id, int64(len(j.plain))
	s.mu.Lock()
	known := s.byID[id]
	if known == nil {
		known = &fate{}
		s.byID[id] = known
		s.mu.Unlock()
		return s.keep(c, id, j.plain, known)
	}
	s.mu.Unlock()
	return nil
}

// keep writes a chunk unless it has a good file: the previous bundle names the chunk and the file has its size, or the
// chunk can be read now. A full backup always reads the chunk, and so replaces a damaged one.
func (s *storer) keep(c *codec, id string, plain []byte, f *fate) error {
	old, trusted := s.trusted[id]
	stored := s.p.stat(id)
	if trusted && !s.full && stored == old.Stored {
		f.stored, f.read = stored, old.Read
		return nil
	}
	f.fresh = true
	if stored > 0 {
		_, n, err := c.read(id, nil)
		if err == nil {
			f.stored = n
			return nil
		} else if !errors.Is(err, errDamaged) {
			return err
		}
	}
	t, n, err := c.write(plain)
	if err != nil {
		return err
	}
	s.commit(t, id)
	f.stored = n
	s.mu.Lock()
	s.added += n
	s.mu.Unlock()
	return nil
}

// commit syncs the file of a chunk and gives it its name, while the workers continue.
func (s *storer) commit(t *temp, id string) {
	s.syncing <- struct{}{}
	s.syncs.Go(func() {
		defer func() { <-s.syncing }()
		if err := t.commit(chunkName(id)); err != nil {
			s.cancel(fmt.Errorf("store a chunk: %w", err))
		}
	})
}

// wait waits for the workers, and for the syncs that they have begun.
func (s *storer) wait() {
	if !s.closed {
		s.closed = true
		close(s.jobs)
	}
	s.all.Wait()
	s.syncs.Wait()
}

// finish waits until all chunks are stored. It returns them in the order of their numbers, and reports for each whether
// it must be read back.
func (s *storer) finish() (chunks []Chunk, fresh []bool, err error) {
	if err := s.flush(); err != nil {
		return nil, nil, err
	}
	s.wait()
	if err := context.Cause(s.ctx); err != nil {
		return nil, nil, err
	}
	s.free, s.cuts = nil, nil // the memory is needed for reading back
	now := s.p.now().Unix()
	chunks, fresh = make([]Chunk, len(s.chunks)), make([]bool, len(s.chunks))
	for number, stored := range s.chunks {
		c := *stored
		f := s.byID[c.ID]
		if f == nil {
			return nil, nil, fmt.Errorf("chunk %d was not stored", number)
		}
		c.Stored, c.Read = f.stored, f.read
		if f.fresh {
			c.Read = now
		}
		chunks[number], fresh[number] = c, f.fresh
	}
	return chunks, fresh, nil
}
