package ops

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"hermes-box/guest/protocol"
	"hermes-box/ops/artifact"
	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// imageArtifacts returns the files that the VM boots from.
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

// softwareArtifacts returns the files that are installed in the guest.
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

// delivery installs the software of a lock in the guest of a running box, in three parts that may overlap: fetch, send
// and apply. Every operation that installs software uses it.
type delivery struct {
	*Box
	lock  *lock.Lock
	cache *artifact.Cache

	mu  sync.Mutex
	has map[string]bool // digests that the guest has received; nil if it was not asked yet
}

func (b *Box) deliver(l *lock.Lock, cache *artifact.Cache) *delivery {
	return &delivery{Box: b, lock: l, cache: cache}
}

// fetchImage fetches the image that the VM boots from into the cache. Artifacts in the cache are not fetched again.
func (d *delivery) fetchImage(ctx context.Context, p *Progress) error {
	return d.fetch(ctx, imageArtifacts(d.lock), p)
}

// fetchSoftware fetches the packages and components that are installed in the guest into the cache.
func (d *delivery) fetchSoftware(ctx context.Context, p *Progress) error {
	return d.fetch(ctx, softwareArtifacts(d.lock), p)
}

func (d *delivery) fetch(ctx context.Context, artifacts []lock.Artifact, p *Progress) error {
	return d.cache.Fetch(ctx, artifacts, func(a artifact.Progress) { p.Bytes(a.AllDone, a.AllTotal) })
}

// packages returns the digests of the OS packages.
func (d *delivery) packages() (digests []string) {
	for _, pkg := range d.lock.Packages {
		digests = append(digests, pkg.Artifact.Digest)
	}
	return digests
}

// sendPackages sends the OS packages, which bootstrap installs.
func (d *delivery) sendPackages(ctx context.Context, p *Progress) error {
	return d.send(ctx, d.packages(), p)
}

// sendComponents sends the artifacts of all components.
func (d *delivery) sendComponents(ctx context.Context, p *Progress) error {
	tx, err := transaction(d.lock, d.Ports(), d.cache)
	if err != nil {
		return err
	}
	return d.send(ctx, objects(tx), p)
}

// send sends the objects that the guest lacks.
func (d *delivery) send(ctx context.Context, digests []string, p *Progress) error {
	lacks, err := d.lacks(ctx, digests)
	if err != nil {
		return err
	}
	if err := d.sendObjects(ctx, d.cache, lacks, p); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, digest := range lacks {
		d.has[digest] = true
	}
	return nil
}

// lacks returns the digests that the guest does not have. The guest is asked once: no other process sends objects
// while an operation has the box's lock.
func (d *delivery) lacks(ctx context.Context, digests []string) (lacks []string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.has == nil {
		hello, err := d.ensureHelper(ctx)
		if err != nil {
			return nil, err
		}
		d.has = map[string]bool{}
		for _, digest := range hello.Objects {
			d.has[digest] = true
		}
	}
	for _, digest := range digests {
		if !d.has[digest] {
			lacks = append(lacks, digest)
		}
	}
	return lacks, nil
}

// apply makes the guest install the software of the lock, in one transaction. arriving means that the objects are
// still being sent.
func (d *delivery) apply(ctx context.Context, arriving bool, p *Progress) (*protocol.Applied, error) {
	tx, err := transaction(d.lock, d.Ports(), d.cache)
	if err != nil {
		return nil, err
	}
	tx.Arriving = arriving
	var applied protocol.Applied
	if err := d.ask(ctx, protocol.VerbApply, tx, &applied, relay(p)); err != nil {
		return nil, err
	}
	return &applied, nil
}

// transaction returns the lock in the form that the guest applies.
func transaction(l *lock.Lock, ports protocol.Ports, cache *artifact.Cache) (protocol.Transaction, error) {
	tx := protocol.Transaction{ID: rand.Text(), Lock: string(l.Canonical()), Ports: ports}
	for _, name := range lock.Order {
		from := l.Components[name]
		to := protocol.Component{Name: name, Version: from.Version}
		if from.Python != nil {
			to.Python = &protocol.Python{Version: from.Python.Version, Artifact: from.Python.Artifact}
		}
		for _, a := range from.Artifacts {
			out := protocol.Artifact{Name: a.Name, Digest: a.Digest}
			if strings.HasPrefix(a.URL, "oci://") {
				blobs, err := cache.Image(a.Digest)
				if err != nil {
					return tx, fmt.Errorf("%s: %w", name, err)
				}
				for _, blob := range blobs {
					out.Blobs = append(out.Blobs, blob.Digest)
				}
			}
			to.Artifacts = append(to.Artifacts, out)
		}
		tx.Components = append(tx.Components, to)
	}
	return tx, nil
}

// objects returns the digests that a transaction needs, in the order in which it needs them.
func objects(tx protocol.Transaction) []string {
	var all []string
	for _, c := range tx.Components {
		all = append(all, c.Objects()...)
	}
	return all
}

// sendObjects streams objects into the guest as one tar. They are verified on the host as they are read, and in the
// guest as they arrive.
func (b *Box) sendObjects(ctx context.Context, cache *artifact.Cache, digests []string, p *Progress) error {
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
		return readErr // the cause: for the guest the stream only ended early
	}
	return err
}
