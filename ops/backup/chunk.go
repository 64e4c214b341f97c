package backup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// Sizes of chunks, in bytes of plaintext.
const (
	smallFile = 1 << 20 // files up to this size are packed together
	packSize  = 4 << 20 // a pack of small files
	minChunk  = 1 << 20 // of a large file
	maxChunk  = 8 << 20
	meanBits  = 21 // a cut is found after about minChunk + 1<<meanBits bytes
)

// Chunk is one chunk that a bundle names.
type Chunk struct {
	ID     string `json:"id"`     // HMAC-SHA256 of the plaintext in hex
	Size   int64  `json:"size"`   // bytes of the plaintext
	Stored int64  `json:"stored"` // bytes of the file
	Read   int64  `json:"read"`   // when it was last read back by a backup, in seconds since 1970
}

func chunkName(id string) string { return "chunks/" + id[:2] + "/" + id + ".age" }

// validID reports whether id is one that chunkID returns.
func validID(id string) bool {
	for _, c := range []byte(id) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return len(id) == 64
}

// codec encrypts and decrypts chunks. It is used by one goroutine.
type codec struct {
	p    *Pool
	enc  *zstd.Encoder
	dec  *zstd.Decoder
	text []byte // compressed
}

func (p *Pool) newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(2<<20), zstd.WithEncoderCRC(false)) // the HMAC is enough
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxChunk), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return &codec{p: p, enc: enc, dec: dec}, nil
}

func (c *codec) close() {
	c.enc.Close()
	c.dec.Close()
}

// write writes a chunk to a temporary file, and returns the file and its size.
func (c *codec) write(plain []byte) (*temp, int64, error) {
	c.room(len(plain) + len(plain)/64 + 4096)
	c.text = c.enc.EncodeAll(plain, c.text[:0])
	t, err := c.p.disk.create()
	if err != nil {
		return nil, 0, err
	}
	size, err := c.encrypt(t)
	if err != nil {
		t.discard()
		return nil, 0, err
	}
	return t, size, nil
}

// maxFile is a limit for the size of a chunk's file: zstd and age add less than 1/64 plus 4096 bytes.
const maxFile = maxChunk + maxChunk/64 + 4096

// room makes c.text large enough for n bytes. There are only two sizes, so that few buffers are thrown away.
func (c *codec) room(n int) {
	const small = 256 << 10
	switch {
	case n <= cap(c.text):
	case n <= small:
		c.text = make([]byte, 0, small)
	default:
		c.text = make([]byte, 0, maxFile)
	}
}

// encrypt writes c.text as an age file, and returns its size.
func (c *codec) encrypt(t *temp) (int64, error) {
	var size counter
	out := bufio.NewWriterSize(io.MultiWriter(t, &size), 128<<10)
	w, err := age.Encrypt(out, c.p.secrets.identity.Recipient())
	if err != nil {
		return 0, err
	}
	if _, err := w.Write(c.text); err != nil {
		return 0, err
	}
	if err := w.Close(); err != nil {
		return 0, err
	}
	err = out.Flush()
	return int64(size), err
}

// errDamaged is the error for a chunk or an artifact whose content is wrong, and for a missing chunk.
var errDamaged = errors.New("damaged")

// provesNothing reports whether a backup may be good although reading it failed: the error is one of the system, such
// as a full or failing disk, or of a context that has ended.
func provesNothing(err error) bool {
	if errors.Is(err, errDamaged) { // it may wrap an error of the system, for example if a chunk is missing
		return false
	}
	system := syscall.Errno(0)
	return errors.As(err, &system) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// read returns the plaintext of a chunk, in buf if that is large enough. The chunk is read to its end and compared with
// its id before anything is returned. If the chunk is missing or damaged, the error wraps errDamaged.
func (c *codec) read(id string, buf []byte) (plain []byte, stored int64, err error) {
	damaged := func(err error) error { return fmt.Errorf("chunk %s is %w: %w", id, errDamaged, err) }
	if !validID(id) {
		return nil, 0, damaged(errors.New("its name is invalid"))
	}
	f, err := c.p.disk.open(chunkName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, damaged(err)
	} else if provesNothing(err) {
		return nil, 0, err
	} else if err != nil {
		return nil, 0, damaged(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if info.Size() > maxFile {
		return nil, 0, damaged(errors.New("its file is too large"))
	}
	plain, err = c.decode(id, f, info.Size(), buf)
	if provesNothing(err) {
		return nil, 0, err
	} else if err != nil {
		return nil, 0, damaged(err)
	}
	return plain, info.Size(), nil
}

// decode reads the file of a chunk, which has size bytes, from in. It returns the plaintext if that has this id.
func (c *codec) decode(id string, in io.Reader, size int64, buf []byte) ([]byte, error) {
	r, err := age.Decrypt(in, c.p.secrets.identity)
	if err != nil {
		return nil, err
	}
	c.room(int(size))
	n, err := readFull(r, c.text[:size])
	if err != nil {
		return nil, err
	}
	plain, err := c.dec.DecodeAll(c.text[:n], buf[:0])
	if err != nil {
		return nil, err
	}
	if c.p.secrets.chunkID(plain) != id {
		return nil, errors.New("its content does not match its name")
	}
	return plain, nil
}

// stat returns the size of the file of a chunk; 0 if there is none.
func (p *Pool) stat(id string) int64 {
	info, err := os.Lstat(p.disk.path(chunkName(id)))
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}
