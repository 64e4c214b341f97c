package component

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

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/object"
	"hermes-box/guest/protocol"
)

// imageTag returns the tag of the image of the release in dir.
func imageTag(dir string) string {
	return "localhost/hermes-box/executor:" + strings.ReplaceAll(filepath.Base(dir), "+", "_")
}

// image is the part of an image manifest and its config that is read here.
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

func (Executor) Stage(ctx context.Context, env Env, c protocol.Component, dir string) error {
	if len(c.Artifacts) != 1 {
		return fmt.Errorf("executor has %d artifacts, not one image", len(c.Artifacts))
	}
	a := c.Artifacts[0]
	var img image
	manifest, err := env.objects().Read(ctx, a)
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
		if _, err := object.Name(digest); err != nil || !ok {
			return fmt.Errorf("blob %q of the image has no sha256 digest", digest)
		}
		to := filepath.Join(blobs, enc)
		if _, err := os.Lstat(to); err == nil {
			continue // an image may have the same layer twice
		}
		if err := env.objects().Link(ctx, protocol.Artifact{Name: a.Name, Digest: digest}, to); err != nil {
			return err
		}
	}
	index := map[string]any{"schemaVersion": 2, "manifests": []any{map[string]any{
		"mediaType": img.manifest.MediaType, "digest": a.Digest, "size": len(manifest)}}}
	config, err := env.objects().Read(ctx, protocol.Artifact{Name: "config of " + a.Name, Digest: img.manifest.Config.Digest})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "digest"), []byte(a.Digest+"\n"), 0o644); err != nil {
		return err
	}
	return errors.Join(env.WriteJSON(filepath.Join(dir, "image/index.json"), index),
		os.WriteFile(filepath.Join(dir, "image/oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644))
}

// Smoke loads the image, because only podman can run it. The image of a release that was smoke-tested before is loaded
// already.
func (Executor) Smoke(ctx context.Context, env Env, c protocol.Component, dir string) error {
	var img image
	if err := durable.ReadJSON(filepath.Join(dir, "config.json"), &img.config); err != nil {
		return err
	}
	if img.config.Architecture != runtime.GOARCH {
		return fmt.Errorf("the image is for %s; this guest is %s", img.config.Architecture, runtime.GOARCH)
	}
	tag, oci := imageTag(dir), filepath.Join(dir, "image")
	if _, err := os.Lstat(oci); err == nil {
		if err := env.Machine.LoadImage(ctx, oci, c.Artifacts[0].Digest, tag); err != nil {
			return err
		}
		env.Did("load " + tag)
		if err := env.Write(filepath.Join(dir, path.Base(layout.ExecutorImage)), []byte("EXECUTOR_IMAGE="+tag+"\n"), 0o644); err != nil {
			return err
		}
		if err := env.RemoveAll(oci); err != nil {
			return err
		}
	}
	if len(img.config.Config.Entrypoint) == 0 {
		return fmt.Errorf("the image has no entry point")
	}
	if v, ok := img.config.Config.Labels["org.opencontainers.image.version"]; ok && !mentions(v, c.Version) {
		return fmt.Errorf("the image is labelled %s, not %s", v, c.Version)
	} else if ok {
		return nil
	}
	// The environment in the image is meant for the server and may change the effect of --version.
	out, err := env.Machine.Run(ctx, machine.Cmd{Path: "podman", Timeout: smokeTime, Args: []string{"run", "--rm", "--pull=never", "--network=none",
		"--read-only", "--tmpfs=/tmp", "--image-volume=tmpfs", "--workdir=/tmp", "--unsetenv-all", "--env=HOME=/tmp", "--timeout=120",
		"--entrypoint=" + img.config.Config.Entrypoint[0], tag, "--version"}})
	if err != nil {
		return err
	}
	if !mentions(string(out), c.Version) {
		return fmt.Errorf("the image reports version %q, not %s", firstLine(string(out)), c.Version)
	}
	return nil
}

func (Executor) Intact(ctx context.Context, env Env, dir string) (bool, error) {
	if !isFile(dir, path.Base(layout.ExecutorImage)) { // without it the unit does not start
		return false, nil
	}
	return env.Machine.HasImage(ctx, imageTag(dir))
}

func (Executor) Discard(ctx context.Context, env Env, dir string) error {
	tag := imageTag(dir)
	has, err := env.Machine.HasImage(ctx, tag)
	if err != nil || !has {
		return err
	}
	if err := env.Machine.RemoveImage(ctx, tag); err != nil {
		return err
	}
	env.Did("remove " + tag)
	return nil
}
