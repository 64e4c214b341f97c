package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// importer reads an exported file.
type importer struct {
	ctx   context.Context
	now   time.Time
	zstd  *zstd.Decoder
	tar   *tar.Reader
	spool *temp // the manifest
	h     Header
}

func (x *importer) close() {
	x.zstd.Close()
	if x.spool != nil {
		x.spool.Close()
	}
}

// next returns the next entry of the tar, which must have this name.
func (x *importer) next(name string) (*tar.Header, error) {
	if err := x.ctx.Err(); err != nil {
		return nil, err
	}
	h, err := x.tar.Next()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%q is missing: %w", name, io.ErrUnexpectedEOF)
	} else if err != nil {
		return nil, err
	}
	if h.Name != name {
		return nil, fmt.Errorf("%q comes where %q should be", h.Name, name)
	}
	return h, nil
}

// begin reads the part before the data, and writes the manifest to the spool.
func (x *importer) begin(put PutArtifact) error {
	if _, err := x.next(exportEnvelope); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(x.tar, envelopeLimit))
	if err != nil {
		return err
	}
	env, err := parseEnvelope(text)
	if err != nil {
		return fmt.Errorf("%s: %w", exportEnvelope, err)
	}
	if _, err := x.next(exportManifest); err != nil {
		return err
	}
	r := bufio.NewReaderSize(x.tar, 64<<10)
	if text, err = readLine(r); err != nil {
		return fmt.Errorf("%s: %w", exportManifest, err)
	}
	check := newChecker(nil)
	if err := check.header(text); err != nil {
		return fmt.Errorf("%s: %w", exportManifest, err)
	}
	if x.h = check.b.Header; x.h.ID != env.ID || x.h.Box != env.Box || x.h.Disk != env.Disk || x.h.Summary.Entries != env.Entries || x.h.Summary.Bytes != env.Bytes {
		return fmt.Errorf("%s differs from %s", exportManifest, exportEnvelope)
	}
	if x.h.Time.After(x.now.Add(ahead)) {
		return fault.New(fault.PreflightFailed, "the backup was made at %s, and the clock of this machine says %s", x.h.Time.Format(time.RFC3339), x.now.UTC().Format(time.RFC3339)).
			Hint("set the clock of this machine if it is wrong: date")
	}
	if _, err := r.WriteTo(x.spool); err != nil {
		return err
	}
	h, err := x.next(exportLock)
	if err != nil {
		return err
	}
	text, err = io.ReadAll(io.LimitReader(x.tar, h.Size))
	if err == nil && string(text) != x.h.Lock {
		err = fmt.Errorf("%s differs from the lock in %s", exportLock, exportManifest)
	}
	if err != nil {
		return err
	}
	return x.artifacts(put)
}

func (x *importer) artifacts(put PutArtifact) error {
	done := map[string]bool{}
	for _, a := range x.h.Artifacts {
		if done[a.Digest] {
			continue
		}
		done[a.Digest] = true
		name, err := artifactName(a.Digest)
		if err != nil {
			return err
		}
		h, err := x.next(name)
		if err != nil {
			return err
		}
		if err := put(x.ctx, a.Digest, h.Size, x.tar); err != nil {
			return fmt.Errorf("artifact %s: %w", a.Name, err)
		}
	}
	return nil
}

// send writes the stream of the tree: entries from the manifest, and their data from the tar. Its summary is sent only
// after the file was read to its end. The pool compares digests and summary.
func (x *importer) send(w io.Writer) error {
	if _, err := x.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(x.spool, 64<<10)
	out, err := tree.NewWriter(w, tree.Header{Version: tree.Version, Arch: x.h.Arch, Taken: x.h.Taken})
	if err != nil {
		return err
	}
	for {
		text, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if raw, ok := bytes.CutPrefix(text, problemHead); ok {
			p := tree.Problem{}
			if err := json.Unmarshal(bytes.TrimSuffix(raw, []byte("}\n")), &p); err != nil {
				return err
			}
			if err := out.Problem(p); err != nil {
				return err
			}
			continue
		}
		if err := x.entry(out, text); err != nil {
			return err
		}
	}
	if h, err := x.tar.Next(); err == nil {
		return fmt.Errorf("%q is not in the manifest", h.Name)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := io.Copy(io.Discard, x.zstd); err != nil {
		return err
	}
	_, err = out.End()
	return err
}

func (x *importer) entry(out *tree.Writer, text []byte) error {
	l := &line{}
	if err := l.parse(text); err != nil {
		return err
	}
	e := &tree.Entry{}
	if err := protocol.Decode(l.raw, e); err != nil {
		return err
	}
	if err := e.Check(); err != nil {
		return err
	}
	if err := out.Entry(e); err != nil || e.Type == tree.Socket {
		return err
	}
	want, err := tarHeader(e)
	if err != nil {
		return err
	}
	h, err := x.next(want.Name)
	if err != nil {
		return err
	}
	if h.Typeflag != want.Typeflag || h.Size != want.Size {
		return fmt.Errorf("the tar entry of %q differs from the manifest", e.Path)
	}
	if !e.HasData() {
		return nil
	}
	at := int64(0)
	segments := e.Segments
	if !e.Sparse && e.Size > 0 {
		segments = []tree.Segment{{Length: e.Size}}
	}
	for _, s := range segments {
		if _, err := io.CopyN(io.Discard, x.tar, s.Offset-at); err != nil {
			return err
		}
		if _, err := io.CopyN(out, x.tar, s.Length); err != nil {
			return err
		}
		at = s.Offset + s.Length
	}
	return out.EndFile()
}
