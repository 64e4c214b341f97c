package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// imageTag names the image of the release in dir.
func imageTag(dir string) string {
	return "localhost/hermes-box/executor:" + strings.ReplaceAll(filepath.Base(dir), "+", "_")
}

// image is what is read of a manifest and its config.
type image struct {
	manifest struct {
		MediaType string `json:"mediaType"`
		Config    struct {
			Digest string `json:"digest"`
		} `json:"config"`
		Layers []struct {
			Digest string `json:"digest"`
		} `json:"layers"`
	}
	config struct {
		Architecture string `json:"architecture"`
		Config       struct {
			Entrypoint []string          `json:"Entrypoint"`
			Labels     map[string]string `json:"Labels"`
		} `json:"config"`
	}
}

func (executor) stage(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	if len(c.Artifacts) != 1 {
		return fmt.Errorf("executor has %d artifacts; one image is expected", len(c.Artifacts))
	}
	a := c.Artifacts[0]
	var img image
	manifest, err := g.readObject(ctx, a)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(manifest, &img.manifest); err != nil {
		return fmt.Errorf("the manifest of %s: %w", a.Name, err)
	}
	if img.manifest.Config.Digest == "" || len(img.manifest.Layers) == 0 {
		return fmt.Errorf("%s is not the manifest of one image; pin the digest of the platform's own manifest", a.Name)
	}
	if img.manifest.MediaType == "" {
		img.manifest.MediaType = "application/vnd.oci.image.manifest.v1+json"
	}
	blobs := filepath.Join(dir, "image/blobs/sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return err
	}
	wanted := []string{a.Digest, img.manifest.Config.Digest}
	for _, l := range img.manifest.Layers {
		wanted = append(wanted, l.Digest)
	}
	for _, digest := range wanted {
		enc, ok := strings.CutPrefix(digest, "sha256:")
		if _, err := objectName(digest); err != nil || !ok {
			return fmt.Errorf("blob %q of the image has no sha256 digest", digest)
		}
		to := filepath.Join(blobs, enc)
		if _, err := os.Lstat(to); err == nil {
			continue // an image may name the same layer twice
		}
		if err := g.linkObject(ctx, protocol.Artifact{Name: a.Name, Digest: digest}, to); err != nil {
			return err
		}
	}
	index := map[string]any{"schemaVersion": 2, "manifests": []any{map[string]any{
		"mediaType": img.manifest.MediaType, "digest": a.Digest, "size": len(manifest)}}}
	config, err := g.readObject(ctx, protocol.Artifact{Name: "config of " + a.Name, Digest: img.manifest.Config.Digest})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "digest"), []byte(a.Digest+"\n"), 0o644); err != nil {
		return err
	}
	return errors.Join(g.putJSON(filepath.Join(dir, "image/index.json"), index),
		os.WriteFile(filepath.Join(dir, "image/oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644))
}

// smoke loads the image, for only podman can run it; a release smoked before has it loaded.
func (executor) smoke(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	var img image
	if err := getJSON(filepath.Join(dir, "config.json"), &img.config); err != nil {
		return err
	}
	if img.config.Architecture != runtime.GOARCH {
		return fmt.Errorf("the image is for %s; this guest is %s", img.config.Architecture, runtime.GOARCH)
	}
	tag, layout := imageTag(dir), filepath.Join(dir, "image")
	if _, err := os.Lstat(layout); err == nil {
		if err := g.Machine.LoadImage(ctx, layout, c.Artifacts[0].Digest, tag); err != nil {
			return err
		}
		g.did("load " + tag)
		if err := g.put(filepath.Join(dir, path.Base(imageEnv)), []byte("EXECUTOR_IMAGE="+tag+"\n"), 0o644); err != nil {
			return err
		}
		if err := g.removeTree(layout); err != nil {
			return err
		}
	}
	if len(img.config.Config.Entrypoint) == 0 {
		return fmt.Errorf("the image has no entry point")
	}
	if v, ok := img.config.Config.Labels["org.opencontainers.image.version"]; ok && !mentions(v, c.Version) {
		return fmt.Errorf("the image says it is %s, not %s", v, c.Version)
	} else if ok {
		return nil
	}
	// Without the image's environment: what it sets for the server may change what --version means.
	out, err := g.Machine.Run(ctx, machine.Cmd{Path: "podman", Timeout: smokeTime, Args: []string{"run", "--rm", "--pull=never", "--network=none",
		"--read-only", "--tmpfs=/tmp", "--image-volume=tmpfs", "--workdir=/tmp", "--unsetenv-all", "--env=HOME=/tmp", "--timeout=120",
		"--entrypoint=" + img.config.Config.Entrypoint[0], tag, "--version"}})
	if err != nil {
		return err
	}
	if !mentions(string(out), c.Version) {
		return fmt.Errorf("the image says it is %q, not %s", firstLine(string(out)), c.Version)
	}
	return nil
}

func (executor) intact(ctx context.Context, g *Guest, dir string) (bool, error) {
	if !isFile(dir, path.Base(imageEnv)) { // without it the unit does not start
		return false, nil
	}
	return g.Machine.HasImage(ctx, imageTag(dir))
}

func (executor) discard(ctx context.Context, g *Guest, dir string) error {
	tag := imageTag(dir)
	has, err := g.Machine.HasImage(ctx, tag)
	if err != nil || !has {
		return err
	}
	if err := g.Machine.RemoveImage(ctx, tag); err != nil {
		return err
	}
	g.did("remove " + tag)
	return nil
}
