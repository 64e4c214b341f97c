package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// Bundle is one backup, open for reading. Close it.
type Bundle struct {
	Header
	Envelope Envelope // zero while the backup is being written; made from the bundle if the stored one cannot be used
	Problems []tree.Problem
	Chunks   []Chunk

	unusable   string // why the envelope of the backup cannot be used; empty if it can
	pool       *Pool
	spool      *temp // the plaintext
	start, end int64 // of the entries in the spool
	byPath     map[key]int64
	byDigest   map[key]int64 // files that are not empty
	loads      []int32       // the chunks to load when all wanted entries are read in order
}

// Close frees the bundle.
func (b *Bundle) Close() error { return b.spool.Close() }

// Load opens a listed backup. Its bundle is read to its end first, and compared with its envelope and with the HMAC
// that only the holder of the pool's key can make. An envelope that cannot be used does not matter: the bundle holds
// everything that is needed. The chunks are not read: their content is checked when it is used.
func (p *Pool) Load(ctx context.Context, id string) (*Bundle, error) {
	env, err := p.record(id)
	if err != nil {
		return nil, err
	}
	f, digest, err := p.openBundle(ctx, env)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := p.decodeBundle(reader{ctx, f}, id, nil)
	if err != nil {
		return nil, damaged(id, err)
	}
	if env.Repairable {
		info, err := f.Stat()
		if err != nil {
			b.Close()
			return nil, err
		}
		b.unusable, b.Envelope = env.Damaged, *p.envelopeOf(&b.Header, b.Chunks, info.Size(), digest)
		return b, nil
	}
	if b.Box != env.Box || b.Arch != env.Arch || b.Summary.Entries != env.Entries || b.Summary.Bytes != env.Bytes ||
		b.Summary.Problems != env.Problems || len(b.Chunks) != env.Chunks {
		b.Close()
		return nil, damaged(id, errors.New("its description differs from its content"))
	}
	b.Envelope = *env
	return b, nil
}

// outline returns the backup of an envelope without its entries: its header and the chunks that it needs. It is faster
// than Load.
func (p *Pool) outline(ctx context.Context, e *Envelope) (*Bundle, error) {
	f, _, err := p.openBundle(ctx, e)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	check := newChecker(nil)
	check.chunksOnly = true
	b, err := p.parseBundle(reader{ctx, f}, io.Discard, check)
	if err == nil && b.ID != e.ID {
		err = fmt.Errorf("its file holds the backup %s", b.ID)
	}
	if err != nil {
		return nil, damaged(e.ID, err)
	}
	return b, nil
}

// openBundle opens the bundle of a backup, and returns its digest, which it compares with the envelope unless that is
// Repairable.
func (p *Pool) openBundle(ctx context.Context, e *Envelope) (*os.File, string, error) {
	f, err := p.disk.open(bundleName(e.ID))
	if err != nil {
		return nil, "", err
	}
	digest, err := sha256Of(ctx, f)
	if err == nil && digest != e.Digest && !e.Repairable {
		err = damaged(e.ID, errors.New("its content does not have the digest in its description"))
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, "", err
	}
	return f, digest, nil
}

func noSuch(id string) error {
	return fault.New(fault.NotFound, "there is no backup %q", id).Hint("hermes-box backup list")
}

// damaged returns the error for a backup that cannot be read. It says that the backup is damaged only if err proves it.
func damaged(id string, err error) error {
	if provesNothing(err) {
		return fmt.Errorf("read the backup %s: %w", id, err)
	}
	return fault.New(fault.IntegrityFailed, "the backup %s is damaged: %w", id, err).
		Hint("use another one: hermes-box backup list")
}

// Each calls fn for each entry, in the order of the tree.
func (b *Bundle) Each(fn func(*tree.Entry) error) error {
	return b.each(func(l *line) error {
		e, err := l.entry()
		if err != nil {
			return err
		}
		return fn(e)
	})
}

// each calls fn for the line of each entry. The line is valid during the call.
func (b *Bundle) each(fn func(*line) error) error {
	r := bufio.NewReaderSize(io.NewSectionReader(b.spool, b.start, b.end-b.start), 256<<10)
	l := &line{}
	for {
		text, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := l.parse(text); err != nil {
			return err
		}
		if err := fn(l); err != nil {
			return err
		}
	}
}

// at returns the line of an entry.
func (b *Bundle) at(offset int64) (*line, error) {
	text := make([]byte, 1024)
	for {
		n, err := b.spool.ReadAt(text, offset)
		if i := bytes.IndexByte(text[:n], '\n'); i >= 0 {
			l := &line{}
			return l, l.parse(text[:i+1])
		}
		if err != nil || len(text) > lineLimit {
			return nil, errors.Join(errLine, err)
		}
		text = make([]byte, 8*len(text))
	}
}

// find returns the line of a path; nil if the backup has none.
func (b *Bundle) find(path []byte) (*line, error) {
	text := base64.StdEncoding.AppendEncode(nil, path)
	offset, ok := b.byPath[pathKey(text)]
	if !ok {
		return nil, nil
	}
	l, err := b.at(offset)
	if err == nil && !bytes.Equal(l.path, text) {
		return nil, fmt.Errorf("%q cannot be found: another path has the same hash", path)
	}
	return l, err
}

// Get returns one entry, and its data if it is a regular file. A hard link has the data of the file that it is a link
// to. Every chunk is checked before its bytes are returned; if the digest of the file is wrong, the last Read returns
// an error instead of io.EOF. The reader is nil if the entry has no data; otherwise the caller closes it.
func (b *Bundle) Get(ctx context.Context, path []byte) (*tree.Entry, io.ReadCloser, error) {
	l, err := b.find(path)
	if err == nil && l == nil {
		err = b.notThere(path)
	}
	if err != nil {
		return nil, nil, err
	}
	entry, err := l.entry()
	if err != nil {
		return nil, nil, err
	}
	if entry.Link != nil {
		if l, err = b.find(entry.Link); err != nil || l == nil {
			return nil, nil, errors.Join(fmt.Errorf("the file that %q is a link to is not in the backup", path), err)
		}
	}
	if len(l.digest) == 0 {
		return entry, nil, nil
	}
	f, err := b.fetch(ctx, (&recent{}).misses(nil, l.refs))
	if err != nil {
		return nil, nil, err
	}
	pr, pw := io.Pipe()
	go func() {
		h := sha256.New()
		defer f.close()
		err := f.copy(io.MultiWriter(pw, h), l.refs)
		if err == nil && hex.EncodeToString(h.Sum(nil)) != string(l.digest) {
			err = fmt.Errorf("the digest of %q differs from the backup's manifest", path)
		}
		pw.CloseWithError(err)
	}()
	return entry, pr, nil
}

func sha256Of(ctx context.Context, r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, reader{ctx, r})
	return hex.EncodeToString(h.Sum(nil)), err
}

// reader fails when its context is done.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
