package backup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// PutArtifact stores an artifact and checks its digest. It reads r to its end.
type PutArtifact func(ctx context.Context, digest string, size int64, r io.Reader) error

// Import reads a file that Export has written, adds the backup in it to the pool, and lists it once the file was read
// to its end and the backup was read back, as Write does. put gets the artifacts, whose digests the lock of the backup
// names. progress, if not nil, is called with the number of bytes of data stored so far. If the pool already has a
// backup with this id, the code of the error is already_exists. An imported file does not prove who made it: anybody
// who knows the recipient can make one.
func (p *Pool) Import(ctx context.Context, file io.Reader, put PutArtifact, progress func(done int64), identities ...age.Identity) (*Envelope, error) {
	x, err := p.openExport(ctx, file, put, identities)
	if err != nil {
		return nil, err
	}
	defer x.close()
	for _, name := range []string{bundleName(x.h.ID), envelopeName(x.h.ID)} {
		if _, err := os.Lstat(p.disk.path(name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(fault.AlreadyExists, "the backup %s exists already", x.h.ID).Hint("hermes-box backup verify %s", x.h.ID)
		}
	}
	x.h.Imported = true
	if x.h.Number, err = p.nextNumber(ctx); err != nil {
		return nil, err
	}
	var env *Envelope
	err = x.stream(ctx, func(ctx context.Context, in *tree.Reader) (err error) {
		env, err = p.write(ctx, in, x.h, Meta{}, nil, progress)
		return err
	})
	return env, err
}

// openExport reads an exported file up to the data in it. put gets the artifacts.
func (p *Pool) openExport(ctx context.Context, file io.Reader, put PutArtifact, identities []age.Identity) (_ *importer, err error) {
	ar, err := Decrypt(reader{ctx, file}, identities...)
	if err != nil {
		return nil, err
	}
	zr, err := zstd.NewReader(ar, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, err
	}
	x := &importer{ctx: ctx, now: p.now(), zstd: zr, tar: tar.NewReader(zr)}
	defer func() {
		if err != nil {
			x.close()
		}
	}()
	if x.spool, err = p.disk.spool(); err != nil {
		return nil, err
	}
	if err := x.begin(put); err != nil {
		return nil, notExport(err)
	}
	return x, nil
}

// Decrypt returns the plaintext of a file that Export has written, a tar compressed with zstd. If none of the
// identities opens the file, the error names the possible causes: there is no identity or passphrase, the file is for
// other recipients, or it is damaged.
func Decrypt(file io.Reader, identities ...age.Identity) (io.Reader, error) {
	seen := &witness{}
	r, err := age.Decrypt(file, append([]age.Identity{seen}, identities...)...)
	if noMatch := (*age.NoIdentityMatchError)(nil); errors.As(err, &noMatch) {
		return nil, seen.notOpened(identities)
	} else if err != nil {
		return nil, notExport(err)
	}
	return r, nil
}

// notExport returns the error for a file that is damaged or that Export has not written. Other errors, such as those of
// the disk or of a cancelled context, keep their code.
func notExport(err error) error {
	if fault.CodeOf(err) != fault.ExternalFailed || provesNothing(err) {
		return fmt.Errorf("read the exported backup: %w", err)
	}
	return fault.New(fault.IntegrityFailed, "the file is damaged, or is not an exported backup: %w", err).
		Hint("copy it again from where it came from, or export the backup again on the machine that has it")
}

// stream passes the tree in the file to the function use. The summary of the tree comes only after the file was read to
// its end.
func (x *importer) stream(ctx context.Context, use func(context.Context, *tree.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pr, pw := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pw.CloseWithError(x.send(pw))
	}()
	defer func() { pr.Close(); <-ended }()
	in, err := tree.NewReader(reader{ctx, pr})
	if err == nil {
		err = use(ctx, in)
	}
	if err != nil {
		return notExport(err)
	}
	return nil
}
