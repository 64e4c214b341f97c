package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/compression"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// executorToken is a script that passes the token to the server from a file or the environment. On a command line the
// server's flag would show the token in the process list.
//
//go:embed executor-token.js
var executorToken string

// executorBase lists the Debian packages that Executor needs.
var executorBase = []string{"libc6", "libgcc-s1", "libstdc++6", "ca-certificates", "base-files"}

var executorConfig = v1.Config{
	Entrypoint: []string{"/app/bin/executor", "web", "--hostname", "0.0.0.0", "--port", "4788"},
	Env: []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/data",
		"EXECUTOR_DATA_DIR=/data",
		"BUN_OPTIONS=--preload /app/token.js",
		"DO_NOT_TRACK=1",
	},
	WorkingDir:   "/data",
	Volumes:      map[string]struct{}{"/data": {}},
	ExposedPorts: map[string]struct{}{"4788/tcp": {}},
}

// executorStep builds Executor's image from its npm package and the packages of executorBase, as an OCI layout in
// registry/.
func executorStep() step {
	return step{
		name:    "executor",
		product: "registry",
		recipe: append(append([]string{guestSuite, executorToken, fmt.Sprintf("%+v", executorConfig), "1"}, executorBase...),
			npmPackages["executor"]...),
		after: []string{"host tools"},
		make:  (*build).executor,
	}
}

// epoch is the time of every file in the image, so that the same inputs give the same digest.
var epoch = time.Unix(0, 0).UTC()

func (b *build) executor(ctx context.Context) error {
	fetch := *b
	fetch.dir = b.tmp
	files, err := fetch.npmPack(ctx, npmPackages["executor"]...)
	if err != nil {
		return err
	}
	if err := fetch.record(files); err != nil {
		return err
	}
	sources, err := b.guestSources(ctx)
	if err != nil {
		return err
	}
	base := filepath.Join(b.tmp, "base.tar")
	argv := []string{"mmdebstrap", "--variant=extract", "--include=" + strings.Join(executorBase, ","), guestSuite, base}
	if err := b.exec(ctx, cmd{argv: append(argv, sources...), dir: b.tmp, env: []string{"SOURCE_DATE_EPOCH=0"}}); err != nil {
		return err
	}
	app := filepath.Join(b.tmp, "app.tar")
	if err := writeTar(app, func(w *tar.Writer) error { return appLayer(w, filepath.Join(b.tmp, files[0].Name)) }); err != nil {
		return err
	}
	clean := filepath.Join(b.tmp, "base-clean.tar")
	if err := writeTar(clean, func(w *tar.Writer) error { return baseLayer(w, base) }); err != nil {
		return err
	}
	img, err := executorImage(clean, app)
	if err != nil {
		return err
	}
	if _, err := layout.Write(b.dir, empty.Index); err != nil {
		return err
	}
	return layout.Path(b.dir).AppendImage(img, layout.WithAnnotations(map[string]string{versionAnnotation: executorVer}))
}

const versionAnnotation = "org.opencontainers.image.version"

func executorImage(layers ...string) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, name := range layers {
		// An emulated guest unpacks zstd several times faster than gzip.
		layer, err := tarball.LayerFromFile(name, tarball.WithCompression(compression.ZStd), tarball.WithMediaType(types.OCILayerZStd), tarball.WithCompressedCaching)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: epoch}}}); err != nil {
			return nil, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", "amd64", v1.Time{Time: epoch}
	config.Config = executorConfig
	return mutate.ConfigFile(img, config)
}

func writeTar(path string, fill func(*tar.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	if err := fill(w); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

// appLayer writes the files of the package's bin/ into /app/bin, the script that passes the token, and an empty /data.
func appLayer(w *tar.Writer, tgz string) error {
	for _, dir := range []string{"app/", "app/bin/", "data/"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: epoch}); err != nil {
			return err
		}
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: "app/token.js", Mode: 0o644, Size: int64(len(executorToken)), ModTime: epoch}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	if _, err := io.WriteString(w, executorToken); err != nil {
		return err
	}
	f, err := os.Open(tgz)
	if err != nil {
		return err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return copyTar(w, zip, func(h *tar.Header) bool {
		name, ok := strings.CutPrefix(h.Name, "package/bin/")
		h.Name, h.Mode = "app/bin/"+name, 0o755
		return ok && h.Typeflag == tar.TypeReg && name == filepath.Base(name)
	})
}

// baseLayer writes the system. It leaves out device nodes, which the container engine provides; the state of apt and
// dpkg, caches and logs, which differ between runs; and documentation. It keeps the directories of these files.
func baseLayer(w *tar.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return copyTar(w, f, func(h *tar.Header) bool {
		for _, dir := range []string{"dev/", "var/lib/apt/", "var/lib/dpkg/", "var/cache/", "var/log/", "etc/apt/", "usr/share/doc/"} {
			if strings.HasPrefix(strings.TrimPrefix(h.Name, "./"), dir) && h.Typeflag != tar.TypeDir {
				return false
			}
		}
		return true
	})
}

// copyTar copies the entries for which keep returns true. Root owns the copies, and their time is epoch.
func copyTar(w *tar.Writer, r io.Reader, keep func(*tar.Header) bool) error {
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !keep(h) {
			continue
		}
		out := &tar.Header{Typeflag: h.Typeflag, Name: h.Name, Linkname: h.Linkname, Mode: h.Mode, Size: h.Size, ModTime: epoch}
		if err := w.WriteHeader(out); err != nil {
			return err
		}
		if _, err := io.Copy(w, in); err != nil {
			return err
		}
	}
}
