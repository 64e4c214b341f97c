package backup

import (
	"bufio"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"hermes-box/guest/protocol/tree"
)

// Header is the first line of a bundle.
type Header struct {
	Format    int        `json:"format"`
	ID        string     `json:"id"`
	Number    int64      `json:"number,omitempty"`   // see Envelope
	Imported  bool       `json:"imported,omitempty"` // see Envelope
	Time      time.Time  `json:"time"`
	Box       string     `json:"box"`
	Disk      string     `json:"disk,omitempty"`  // UUID of the file system of the data disk, which each box formats once
	Arch      string     `json:"arch"`            // GOARCH of the guest
	Taken     int64      `json:"taken,omitempty"` // time of the snapshot, by the clock of the guest: nanoseconds since 1970
	Label     string     `json:"label,omitempty"`
	Lock      string     `json:"lock"` // the text of the applied lock
	Artifacts []Artifact `json:"artifacts,omitempty"`
	Summary   Summary    `json:"summary"`
}

// Summary counts what is in a backup. Digest is the sha256 of its entries in JSON, each with a newline, and then of its
// problems in the same form.
type Summary struct {
	tree.Summary
	Digest string `json:"digest"`
}

// String returns the counts and the digest, for messages.
func (s Summary) String() string { return fmt.Sprintf("%s, digest: %s", s.Summary, s.Digest) }

// Artifact is an artifact that the lock of a backup names.
type Artifact struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // sha256:<hex> or sha512:<hex>
	Size   int64  `json:"size"`   // bytes
}

const lineLimit = 64 << 20 // the longest line: an entry has up to 16 MiB, and a ref for each chunk of its data

// encodeBundle writes a bundle: lines holds the entries and problems, each followed by a newline.
func (p *Pool) encodeBundle(out io.Writer, h Header, lines io.Reader, chunks []Chunk) error {
	aw, err := age.Encrypt(out, p.secrets.identity.Recipient())
	if err != nil {
		return err
	}
	zw, err := zstd.NewWriter(aw, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return err
	}
	mac := p.secrets.newMAC("bundle")
	w := bufio.NewWriterSize(zw, 64<<10)
	both := io.MultiWriter(w, mac)
	write := func(v any) error {
		data, err := json.Marshal(v)
		if err == nil {
			_, err = both.Write(append(data, '\n'))
		}
		return err
	}
	if err := write(h); err != nil {
		return err
	}
	if _, err := io.Copy(both, lines); err != nil {
		return err
	}
	for i := range chunks {
		if err := write(map[string]Chunk{"c": chunks[i]}); err != nil {
			return err
		}
	}
	both = w
	if err := write(map[string]string{"mac": hex.EncodeToString(mac.Sum(nil))}); err != nil {
		return err
	}
	return errors.Join(w.Flush(), zw.Close(), aw.Close())
}

// decodeBundle reads a bundle to its end, checks it, and copies its plaintext to a spool. want selects the entries
// whose chunks go to Bundle.loads; nil selects all. The digest of the manifest is computed again and compared with the
// one in the header.
func (p *Pool) decodeBundle(in io.Reader, id string, want func(*line) bool) (b *Bundle, err error) {
	spool, err := p.disk.spool()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			spool.Close()
		}
	}()
	b, err = p.parseBundle(in, spool, newChecker(want))
	if err != nil {
		return nil, fmt.Errorf("backup %s: %w", id, err)
	}
	if b.ID != id {
		return nil, fmt.Errorf("backup %s: the file holds the backup %s", id, b.ID)
	}
	b.pool, b.spool = p, spool
	return b, nil
}

func (p *Pool) parseBundle(in io.Reader, spool io.Writer, check *checker) (*Bundle, error) {
	ar, err := age.Decrypt(in, p.secrets.identity)
	if err != nil {
		return nil, err
	}
	zr, err := zstd.NewReader(ar, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, err
	}
	defer zr.Close()
	return p.secrets.parseLines(zr, spool, check)
}

// parseLines reads the plaintext of a bundle. It returns an error for any text that encodeBundle does not write.
func (s *secrets) parseLines(in io.Reader, spool io.Writer, check *checker) (*Bundle, error) {
	r := bufio.NewReaderSize(in, 64<<10)
	out := bufio.NewWriterSize(spool, 64<<10)
	mac := s.newMAC("bundle")
	for first := true; ; first = false {
		text, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF // the HMAC is missing
		} else if err != nil {
			return nil, err
		}
		if first {
			err = check.header(text)
		} else {
			err = check.line(text)
		}
		if err != nil {
			return nil, err
		}
		if check.mac != "" {
			break
		}
		mac.Write(text)
		if _, err := out.Write(text); err != nil {
			return nil, err
		}
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("there is data after its end"), err)
	}
	if !hmac.Equal([]byte(check.mac), []byte(hex.EncodeToString(mac.Sum(nil)))) {
		return nil, errors.New("it was not made with the key of these backups")
	}
	if err := out.Flush(); err != nil {
		return nil, err
	}
	return check.end()
}

// readLine returns the next line with its newline.
func readLine(r *bufio.Reader) ([]byte, error) {
	text, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if errors.Is(err, io.EOF) && len(text) > 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return text, err
	}
	long := append([]byte(nil), text...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(long) > lineLimit {
			return nil, fmt.Errorf("a line is longer than %d MiB", lineLimit>>20)
		}
		text, err = r.ReadSlice('\n')
		long = append(long, text...)
	}
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	return long, err
}
