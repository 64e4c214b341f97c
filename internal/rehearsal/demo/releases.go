package demo

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"hermes-box/internal/rehearsal"
	"hermes-box/ops/lock"
)

// Releases are the versions of the fixtures. Each has all components. The lock of a new demo names the first.
var Releases = []string{"demo-1", "demo-2"}

// programs are shell scripts in place of the real software.
//
//go:embed programs
var programs embed.FS

// program returns the text of a program for a release.
func program(name, release string) []byte {
	text, err := programs.ReadFile("programs/" + name)
	if err != nil {
		panic(err) // it is compiled in
	}
	return bytes.ReplaceAll(text, []byte("VERSION"), []byte(release))
}

// shelf creates artifacts in dir, the directory of a demo.
type shelf struct{ dir string }

// put writes one artifact of a release as a plain file, at the path that its URL names.
func (s shelf) put(release, name string, data []byte) (lock.Artifact, error) {
	path := filepath.Join(s.dir, "releases", release, name)
	if err := write(path, data); err != nil {
		return lock.Artifact{}, err
	}
	sum := sha256.Sum256(data)
	return lock.Artifact{
		Name: name, URL: (&url.URL{Scheme: "file", Path: path}).String(), Size: int64(len(data)), Digest: "sha256:" + hex.EncodeToString(sum[:]),
	}, nil
}

// make creates every artifact of a release and returns the lock that names them.
func (s shelf) make(release string) (*lock.Lock, error) {
	l := &lock.Lock{Schema: lock.Schema, Lima: lock.Lima{Version: rehearsal.Version}, Arch: runtime.GOARCH,
		Image: lock.Image{Name: "demo, no image"}, Components: map[string]*lock.Component{}}
	var err error
	if l.Image.Disk, err = s.put(release, "disk.img", ballast("disk", 256)); err != nil {
		return nil, err
	}
	for _, name := range lock.Order {
		c := &lock.Component{Version: release, Source: "pkg:generic/hermes-box-demo-" + name + "@" + release}
		l.Components[name] = c
		if name == "executor" {
			image, err := s.image(release)
			if err != nil {
				return nil, err
			}
			c.Artifacts = []lock.Artifact{image}
			continue
		}
		if name == "hermes" {
			c.Python = &lock.Python{Version: "3.13"}
		}
		for _, part := range parts(name, release) {
			a, err := s.put(release, part.name, part.data)
			if err != nil {
				return nil, err
			}
			c.Artifacts = append(c.Artifacts, a)
		}
	}
	return l, nil
}

type part struct {
	name string
	data []byte
}

// parts returns the artifacts of a component other than Executor, each in the layout of its vendor.
func parts(component, release string) []part {
	switch component {
	case "node":
		return []part{
			{"node.tgz", archive("package/bin/node", program("node", release), "package/ballast", ballast("node"+release, 600))},
			{"npm.tgz", archive("package/bin/npm-cli.js", program("npm", release), "package/bin/npx-cli.js", program("npm", release))},
		}
	case "uv":
		return []part{{"uv.tgz", archive("uv-demo/uv", program("uv", release), "uv-demo/uvx", program("uv", release), "uv-demo/ballast", ballast("uv"+release, 400))}}
	case "claude":
		return []part{{"claude.tgz", archive("package/claude", program("claude", release), "package/ballast", ballast("claude"+release, 1200))}}
	case "codex":
		return []part{{"codex.tgz", archive("package/vendor/demo/bin/codex", program("codex", release),
			"package/vendor/demo/codex-resources/ballast", ballast("codex"+release, 1000))}}
	}
	version := strings.ReplaceAll(release, "-", "_") // as a wheel spells it
	return []part{{"hermes_agent-" + version + "-py3-none-any.whl", archive("bin/hermes", program("hermes", release),
		"lib/python3.13/site-packages/hermes/ballast", ballast("hermes"+release, 300))}}
}

// ballast returns kib KiB of data that cannot be compressed, to make progress visible.
func ballast(seed string, kib int) []byte {
	data := make([]byte, kib<<10)
	rand.NewChaCha8(sha256.Sum256([]byte(seed))).Read(data)
	return data
}

// archive returns a tar of files in gzip format, without compression. pairs are names and contents in turn. The same
// files give the same bytes.
func archive(pairs ...any) []byte {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if err != nil {
		panic(err) // only for an invalid level
	}
	w := tar.NewWriter(zip)
	for i := 0; i < len(pairs); i += 2 {
		data := pairs[i+1].([]byte)
		_ = w.WriteHeader(&tar.Header{Name: pairs[i].(string), Mode: 0o755, Size: int64(len(data))})
		_, _ = w.Write(data)
	}
	_, _ = w.Close(), zip.Close() // in memory: they cannot fail
	return out.Bytes()
}

// registry is the address that the lock gives for Executor's image. The parts of the image are files in the mirror.
const registry = "demo.invalid/executor"

// image creates Executor's image and puts its parts into the mirror.
func (s shelf) image(release string) (lock.Artifact, error) {
	fail := func(err error) (lock.Artifact, error) {
		return lock.Artifact{}, fmt.Errorf("image of executor: %w", err)
	}
	layer := static.NewLayer(archive("app/bin/executor", program("executor", release), "app/ballast", ballast("executor"+release, 700)), types.OCILayer)
	img, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return fail(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return fail(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: []string{"/app/bin/executor"}, Env: []string{"VERSION=" + release}}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return fail(err)
	}
	manifest, err := img.RawManifest()
	if err != nil {
		return fail(err)
	}
	raw, err := img.RawConfigFile()
	if err != nil {
		return fail(err)
	}
	blob, err := layer.Compressed()
	if err != nil {
		return fail(err)
	}
	defer blob.Close()
	var data bytes.Buffer
	if _, err := data.ReadFrom(blob); err != nil {
		return fail(err)
	}
	a := lock.Artifact{Name: "executor"}
	for _, part := range [][]byte{raw, data.Bytes(), manifest} {
		sum := sha256.Sum256(part)
		if err := write(filepath.Join(s.dir, "mirror", "sha256", hex.EncodeToString(sum[:])), part); err != nil {
			return fail(err)
		}
		a.Digest = "sha256:" + hex.EncodeToString(sum[:]) // the last one is that of the manifest
		a.Size += int64(len(part))
	}
	a.URL = "oci://" + registry + "@" + a.Digest
	return a, nil
}

// write replaces a file.
func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
