package ops

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	"hermes-box/guest/protocol"
	"hermes-box/ops/artifact"
	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// imageArtifacts are what the VM boots from.
func imageArtifacts(l *lock.Lock) []lock.Artifact {
	all := []lock.Artifact{l.Image.Disk}
	if l.Image.Kernel != nil {
		all = append(all, l.Image.Kernel.Artifact)
	}
	if l.Image.Initrd != nil {
		all = append(all, *l.Image.Initrd)
	}
	return all
}

// softwareArtifacts are what is installed in the guest.
func softwareArtifacts(l *lock.Lock) []lock.Artifact {
	var all []lock.Artifact
	for _, pkg := range l.Packages {
		all = append(all, pkg.Artifact)
	}
	for _, name := range lock.Order {
		all = append(all, l.Components[name].Artifacts...)
	}
	return all
}

// fetch brings artifacts into the cache; what is there already costs a look.
func fetch(ctx context.Context, cache *artifact.Cache, wanted []lock.Artifact, p *Progress) error {
	return cache.Fetch(ctx, wanted, func(a artifact.Progress) { p.Bytes(a.AllDone, a.AllTotal) })
}

// transaction is the whole lock as the guest is to apply it.
func transaction(l *lock.Lock, ports protocol.Ports, cache *artifact.Cache) (protocol.Transaction, error) {
	tx := protocol.Transaction{ID: rand.Text(), Lock: string(l.Canonical()), Ports: ports}
	for _, name := range lock.Order {
		from := l.Components[name]
		to := protocol.Component{Name: name, Version: from.Version, Source: from.Source}
		if from.Python != nil {
			to.Python = &protocol.Python{Version: from.Python.Version, Artifact: from.Python.Artifact}
		}
		for _, a := range from.Artifacts {
			out := protocol.Artifact{Name: a.Name, Digest: a.Digest, Size: a.Size}
			if strings.HasPrefix(a.URL, "oci://") {
				blobs, err := cache.Image(a.Digest)
				if err != nil {
					return tx, fmt.Errorf("%s: %w", name, err)
				}
				for _, blob := range blobs {
					out.Blobs = append(out.Blobs, protocol.Blob{Digest: blob.Digest, Size: blob.Size})
				}
			}
			to.Artifacts = append(to.Artifacts, out)
		}
		tx.Components = append(tx.Components, to)
	}
	return tx, nil
}

// objects are the digests a transaction needs in the guest, in the order it needs them.
func objects(tx protocol.Transaction) []string {
	var all []string
	for _, c := range tx.Components {
		all = append(all, c.Objects()...)
	}
	return all
}

// send streams objects into the guest as one tar, checked here as they are read and there as they arrive.
func (b *Box) send(ctx context.Context, cache *artifact.Cache, digests []string, p *Progress) error {
	if len(digests) == 0 {
		return nil
	}
	r, w := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := cache.WriteTar(ctx, w, digests, p.Bytes)
		w.CloseWithError(err)
		read <- err
	}()
	err := b.askStream(ctx, protocol.VerbReceive, r, &protocol.Received{}, nil)
	r.Close()
	readErr := <-read
	var f *fault.Error
	if errors.As(readErr, &f) {
		return readErr // the cause; the guest only saw its stream end
	}
	return err
}
