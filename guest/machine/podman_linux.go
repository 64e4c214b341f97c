package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const imageTimeout = 15 * time.Minute

// LoadImage loads an OCI layout directory into podman and tags the image. It fails unless the image has this manifest
// digest. Podman's oci transport reads only the directory; no registry is asked.
func (m *Machine) LoadImage(ctx context.Context, layout, digest, tag string) error {
	out, err := m.Run(ctx, Cmd{Path: "podman", Args: []string{"pull", "--quiet", "oci:" + layout}, Timeout: imageTimeout})
	if err != nil {
		return err
	}
	lines := strings.Fields(string(out))
	if len(lines) == 0 {
		return errors.New("podman pull printed no image ID")
	}
	id := lines[len(lines)-1]
	out, err = m.Run(ctx, Cmd{Path: "podman", Args: []string{"image", "inspect", "--format", "{{.Digest}}", id}})
	if err != nil {
		return err
	}
	if _, err := m.Run(ctx, Cmd{Path: "podman", Args: []string{"tag", id, tag}}); err != nil {
		return err
	}
	if got := strings.TrimSpace(string(out)); got != digest {
		// Remove the image by its tag, not by its ID: another release with the same config has the same ID.
		return errors.Join(fmt.Errorf("podman pulled an image with digest %s instead of %s", got, digest), m.RemoveImage(ctx, tag))
	}
	return nil
}

// HasImage reports whether podman has an image with this tag.
func (m *Machine) HasImage(ctx context.Context, tag string) (bool, error) {
	_, err := m.Run(ctx, Cmd{Path: "podman", Args: []string{"image", "exists", tag}})
	var exit *ExitError
	if errors.As(err, &exit) && exit.Status == 1 {
		return false, nil
	}
	return err == nil, err
}

// RemoveImage removes the tag, if podman has it, and the image if it has no other tag.
func (m *Machine) RemoveImage(ctx context.Context, tag string) error {
	has, err := m.HasImage(ctx, tag)
	if err != nil || !has {
		return err
	}
	_, err = m.Run(ctx, Cmd{Path: "podman", Args: []string{"rmi", tag}, Timeout: imageTimeout})
	return err
}
