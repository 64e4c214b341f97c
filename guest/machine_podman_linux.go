package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const imageTimeout = 15 * time.Minute

// LoadImage copies an OCI layout into podman's store. The oci transport reads the directory alone: nothing is
// asked of any registry.
func (m *machine) LoadImage(ctx context.Context, layout, digest, tag string) error {
	out, err := m.Run(ctx, Cmd{Path: "podman", Args: []string{"pull", "--quiet", "oci:" + layout}, Timeout: imageTimeout})
	if err != nil {
		return err
	}
	lines := strings.Fields(string(out))
	if len(lines) == 0 {
		return errors.New("podman loaded an image but told no id")
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
		// By its tag alone: the id is also that of another release with the same config, which stays.
		return errors.Join(fmt.Errorf("the image loaded has digest %s, not %s", got, digest), m.RemoveImage(ctx, tag))
	}
	return nil
}

func (m *machine) HasImage(ctx context.Context, tag string) (bool, error) {
	_, err := m.Run(ctx, Cmd{Path: "podman", Args: []string{"image", "exists", tag}})
	var exit *ExitError
	if errors.As(err, &exit) && exit.Status == 1 {
		return false, nil
	}
	return err == nil, err
}

func (m *machine) RemoveImage(ctx context.Context, tag string) error {
	has, err := m.HasImage(ctx, tag)
	if err != nil || !has {
		return err
	}
	_, err = m.Run(ctx, Cmd{Path: "podman", Args: []string{"rmi", tag}, Timeout: imageTimeout})
	return err
}
