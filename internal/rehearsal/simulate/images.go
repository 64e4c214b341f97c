package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LoadImage reads an OCI layout: the manifest and its config. It checks that every layer is there.
func (s *Machine) LoadImage(_ context.Context, layout, digest, tag string) error {
	return s.change("load "+tag, func(st *state) error {
		var index struct{ Manifests []struct{ Digest string } }
		if err := readJSON(filepath.Join(layout, "index.json"), &index); err != nil {
			return err
		}
		if !exists(filepath.Join(layout, "oci-layout")) {
			return fmt.Errorf("%s is not an OCI layout", layout)
		}
		if len(index.Manifests) != 1 || index.Manifests[0].Digest != digest {
			return fmt.Errorf("the layout does not hold %s alone", digest)
		}
		blob := func(digest string) string {
			return filepath.Join(layout, "blobs/sha256", strings.TrimPrefix(digest, "sha256:"))
		}
		var manifest struct {
			Config struct{ Digest string }
			Layers []struct{ Digest string }
		}
		if err := readJSON(blob(digest), &manifest); err != nil {
			return err
		}
		for _, l := range manifest.Layers {
			if !exists(blob(l.Digest)) {
				return fmt.Errorf("layer %s is missing", l.Digest)
			}
		}
		var config struct{ Config struct{ Env []string } }
		if err := readJSON(blob(manifest.Config.Digest), &config); err != nil {
			return err
		}
		im := image{Digest: digest}
		for _, e := range config.Config.Env {
			if v, ok := strings.CutPrefix(e, "VERSION="); ok {
				im.Version = v
			}
		}
		st.Images[tag] = im
		return nil
	})
}

// HasImage reports whether there is an image with this tag.
func (s *Machine) HasImage(_ context.Context, tag string) (has bool, err error) {
	err = s.view(func(st *state) { _, has = st.Images[tag] })
	return has, err
}

// RemoveImage removes the image with this tag.
func (s *Machine) RemoveImage(_ context.Context, tag string) error {
	return s.change("unload "+tag, func(st *state) error { delete(st.Images, tag); return nil })
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
