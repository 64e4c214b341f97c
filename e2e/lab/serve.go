package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// identity is the answer at /lab, by which another lab process recognizes a server of the same cache.
type identity struct {
	Cache string `json:"cache"`
}

// served are the folders of the cache whose files are served. Executor's image is served by the registry instead.
var served = []string{"image", "packages", "mirror"}

// handler serves the cache: files (with ranges) and, below /v2/, Executor's image.
func (l *lab) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /lab", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(identity{Cache: l.dir})
	})
	files := http.FileServer(http.Dir(l.dir))
	for _, product := range served {
		mux.Handle("GET /"+product+"/", files)
	}
	// The registry's disk handler expects blobs in the directories of an OCI layout.
	mux.Handle("/v2/", registry.New(
		registry.WithBlobHandler(registry.NewDiskBlobHandler(l.path("registry", "blobs"))),
		registry.Logger(log.New(io.Discard, "", 0)),
	))
	return mux
}

// listen serves the cache until stop is called. It does nothing if another lab process serves the same cache.
func (l *lab) listen(ctx context.Context) (stop func(), err error) {
	if _, err := os.Stat(l.lockPath()); err != nil {
		return nil, fmt.Errorf("the cache %s is not prepared: %w\nhint: go run ./e2e/lab prepare", l.dir, err)
	}
	listener, err := net.Listen("tcp", l.address())
	if errors.Is(err, syscall.EADDRINUSE) {
		if l.servedAlready(ctx) {
			return func() {}, nil
		}
		return nil, fmt.Errorf("serve on %s: another program or the lab of another cache uses the port: %w", l.address(), err)
	}
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: l.handler(), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	stop = func() { server.Close() }
	if err := l.publish(ctx); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

func (l *lab) servedAlready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.address()+"/lab", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var other identity
	return json.NewDecoder(resp.Body).Decode(&other) == nil && other.Cache == l.dir
}

// publish uploads the manifest of Executor's image to the registry, which has the blobs already.
func (l *lab) publish(ctx context.Context) error {
	img, digest, err := l.executorImage()
	if err != nil {
		return err
	}
	ref, err := name.NewDigest(l.address() + "/executor@" + digest.String())
	if err != nil {
		return err
	}
	if err := remote.Put(ref, img, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("publish the image of executor: %w", err)
	}
	return nil
}

// executorImage opens Executor's image, which is in registry/.
func (l *lab) executorImage() (v1.Image, v1.Hash, error) {
	path, err := layout.FromPath(l.path("registry"))
	if err != nil {
		return nil, v1.Hash{}, err
	}
	index, err := path.ImageIndex()
	if err != nil {
		return nil, v1.Hash{}, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, v1.Hash{}, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, v1.Hash{}, fmt.Errorf("%s holds %d images, not one", l.path("registry"), len(manifest.Manifests))
	}
	digest := manifest.Manifests[0].Digest
	img, err := path.Image(digest)
	return img, digest, err
}

// serve serves the cache until ctx is done.
func (l *lab) serve(ctx context.Context) error {
	stop, err := l.listen(ctx)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("%s on http://%s\n", l.dir, l.address())
	<-ctx.Done()
	return nil
}
