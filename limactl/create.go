package limactl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// maxYAML is the largest template. It keeps an instance's line of limactl list below 64 KiB, since other readers of
// that list fail on longer lines.
const maxYAML = 48 << 10

// Create makes an instance from a template and does not start it. The error is ErrExists if there is an instance of
// that name, or a part of one. If Create fails, a part of the instance may be left: Delete removes it.
func (c *Client) Create(ctx context.Context, name string, yaml []byte) error {
	if err := checkName("instance", name); err != nil {
		return err
	}
	if len(yaml) > maxYAML {
		return &Error{Message: fmt.Sprintf("template of instance %s has %d bytes, more than %d", name, len(yaml), maxYAML), Kind: "invalid_input"}
	}
	if err := CheckHome(c.config.Home, name); err != nil {
		return err
	}
	if exists(c.Dir(name)) {
		return &Error{Message: fmt.Sprintf("instance %s already exists", name), Kind: "already_exists", Err: ErrExists}
	}
	if err := os.MkdirAll(c.config.Home, 0o700); err != nil {
		return err
	}
	_, err := c.runWith(ctx, 5*time.Minute, yaml, c.accelEnv(), nil, "create", "--tty=false", "--name", name, "-")
	return err
}

// Delete removes a stopped instance and checks that it is gone. It does nothing if there is none. Locks that other
// instances hold on its disks are kept. The error is ErrInUse if the instance is not stopped.
func (c *Client) Delete(ctx context.Context, name string) error {
	if err := checkName("instance", name); err != nil {
		return err
	}
	in, err := c.Instance(ctx, name)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if leftover(c.Dir(name)) {
		// Lima ignores a directory without lima.yaml. This one is in this client's LIMA_HOME and has exactly this
		// name.
		if err := os.RemoveAll(c.Dir(name)); err != nil {
			return err
		}
		return c.releaseLocks(ctx, name)
	}
	held, err := c.foreignLocks(ctx, in)
	if err != nil {
		return err
	}
	// limactl kills every process that the instance's pid files name, even one that does not belong to the instance. So
	// stale pid files are removed just before.
	if err := c.CleanStale(ctx, name); err != nil {
		return err
	}
	if off, err := readFacts(in.Dir, in.VMType).off(in); err != nil {
		return err
	} else if !off {
		return &Error{Message: fmt.Sprintf("instance %s is not stopped", name), Do: "stop it first: hermes-box stop", Kind: "busy", Err: ErrInUse}
	}
	// Use --force, because Lima otherwise refuses an instance whose lima.yaml it cannot read. The check above found no
	// running process of the instance. The exit status is not enough: limactl also fails, after deleting, if another
	// directory of LIMA_HOME is not an instance.
	_, err = c.run(ctx, 5*time.Minute, nil, "delete", "--force", name)
	switch after := context.WithoutCancel(ctx); {
	case !exists(c.Dir(name)):
		return errors.Join(c.restoreLocks(after, held), c.releaseLocks(after, name))
	case err != nil:
		return errors.Join(err, c.restoreLocks(after, held))
	default:
		return errors.Join(fmt.Errorf("instance %s is still there after limactl delete", name), c.restoreLocks(after, held))
	}
}
