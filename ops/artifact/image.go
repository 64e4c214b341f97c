package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// maxManifest is the size of the largest manifest that is accepted, in bytes.
const maxManifest = 4 << 20

// Blob is a part of an OCI image: its config or a layer.
type Blob struct {
	Digest string
	Size   int64
}

// Image lists the config and the layers of a cached image, each once, the config first. It verifies the manifest, but
// only compares the sizes of the blobs. If the manifest or a blob is missing, the error is not_found.
func (c *Cache) Image(manifestDigest string) ([]Blob, error) {
	blobs, _, err := c.manifest(context.Background(), manifestDigest)
	if err != nil {
		return nil, err
	}
	for _, b := range blobs {
		if size := c.sizeOf(b.Digest); size != b.Size {
			return nil, fault.New(fault.NotFound, "blob %s of image %s is not in the artifact cache", b.Digest, manifestDigest).
				Hint("run the command again with network access; it fetches what is missing")
		}
	}
	return blobs, nil
}

// manifest reads a cached manifest and returns its blobs and its own size.
func (c *Cache) manifest(ctx context.Context, digest string) ([]Blob, int64, error) {
	f, err := c.Open(ctx, digest)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, 0, fault.New(fault.ExternalFailed, "read manifest %s: %w", digest, err)
	}
	blobs, err := parseManifest(data)
	if err != nil {
		return nil, 0, fault.New(fault.IntegrityFailed, "manifest %s: %w", digest, err).
			Hint("pin the digest of an image manifest for the guest's arch in %s", lock.FileName)
	}
	return blobs, int64(len(data)), nil
}

// parseManifest lists the blobs of an image manifest, each once, the config first.
func parseManifest(data []byte) ([]Blob, error) {
	if len(data) > maxManifest {
		return nil, fmt.Errorf("it is larger than %d bytes", maxManifest)
	}
	m, err := v1.ParseManifest(strings.NewReader(string(data)))
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if m.MediaType.IsIndex() || len(m.Layers) == 0 || m.Config.Digest.Hex == "" {
		return nil, errors.New("it is not an image manifest, but an index of several images or something else")
	}
	var blobs []Blob
	seen := map[string]bool{}
	for _, part := range append([]v1.Descriptor{m.Config}, m.Layers...) {
		digest := part.Digest.String()
		if d, err := lock.ParseDigest(digest); err != nil || d.Algo != "sha256" || part.Size < 1 {
			return nil, fmt.Errorf("its blob %q (%d bytes) has an invalid digest or size", digest, part.Size)
		}
		if !seen[digest] {
			seen[digest] = true
			blobs = append(blobs, Blob{digest, part.Size})
		}
	}
	return blobs, nil
}

func sumSizes(blobs []Blob) int64 {
	var sum int64
	for _, b := range blobs {
		sum += b.Size
	}
	return sum
}

// fetchImage downloads an image: every part is an object of its own.
func (c *Cache) fetchImage(ctx context.Context, a lock.Artifact, count *counter) error {
	ref, err := name.NewDigest(strings.TrimPrefix(a.URL, "oci://"), name.StrictValidation)
	if err != nil || ref.DigestStr() != a.Digest {
		return fault.New(fault.InvalidInput, "artifact %s: its url is not oci://<registry>/<repository>@%s", a.Name, a.Digest).
			Hint("correct the url of %s in %s", a.Name, lock.FileName)
	}
	repo := &repository{cache: c, name: ref.Context()}
	get := func(ctx context.Context, digest, kind string, size int64) error {
		d, err := lock.ParseDigest(digest)
		if err != nil {
			return err
		}
		src := &registrySource{repo: repo, kind: kind, digest: digest}
		return c.get(ctx, &object{name: a.Name, digest: d, size: size, sources: append(c.mirrorsOf(d), src), count: count})
	}
	if err := get(ctx, a.Digest, "manifests", -1); err != nil {
		return err
	}
	blobs, size, err := c.manifest(ctx, a.Digest)
	if err != nil {
		return fault.New(fault.CodeOf(err), "artifact %s: %w", a.Name, err).Hint("%s", fault.HintOf(err))
	}
	if sum := size + sumSizes(blobs); sum != a.Size {
		return fault.New(fault.IntegrityFailed, "artifact %s: expected %d bytes, found %d in the manifest, config and layers of %s", a.Name, a.Size, sum, a.Digest).
			Hint("correct the size of %s in %s", a.Name, lock.FileName)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, b := range blobs {
		group.Go(func() error { return get(ctx, b.Digest, "blobs", b.Size) })
	}
	return group.Wait()
}

// repository is a repository of a registry, accessed anonymously: the user's own logins are not read.
type repository struct {
	cache *Cache
	name  name.Repository

	mu     sync.Mutex
	client *http.Client
}

// connect does the registry's handshake when it is first needed.
func (r *repository) connect(ctx context.Context) (*http.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		return r.client, nil
	}
	t, err := transport.NewWithContext(ctx, r.name.Registry, authn.Anonymous, r.cache.client.Transport,
		[]string{r.name.Scope(transport.PullScope)})
	if err != nil {
		if answer, ok := errors.AsType[*transport.Error](err); ok {
			return nil, statusError(answer.StatusCode)
		}
		return nil, err
	}
	client := *r.cache.client
	client.Transport = t
	r.client = &client
	return r.client, nil
}

// registrySource is a manifest or blob of a repository.
type registrySource struct {
	repo   *repository
	kind   string
	digest string
}

func (s *registrySource) shown() string { return "oci://" + s.repo.name.Name() + "@" + s.digest }

func (s *registrySource) open(ctx context.Context, offset int64, etag string) (*body, error) {
	client, err := s.repo.connect(ctx)
	if err != nil {
		return nil, err
	}
	repo := s.repo.name
	h := &httpSource{client: client, url: &url.URL{
		Scheme: repo.Scheme(),
		Host:   repo.RegistryStr(),
		Path:   "/v2/" + repo.RepositoryStr() + "/" + s.kind + "/" + s.digest,
	}}
	if s.kind == "manifests" {
		h.accept = strings.Join([]string{string(types.OCIManifestSchema1), string(types.DockerManifestSchema2),
			string(types.OCIImageIndex), string(types.DockerManifestList)}, ", ")
	}
	return h.open(ctx, offset, etag)
}
