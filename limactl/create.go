package limactl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// maxYAML keeps an instance's line of limactl list below the 64 KiB at which its other readers fail.
const maxYAML = 48 << 10

// Create makes an instance of a template, without starting it. ErrExists if there is one, or what is left of one.
// Where it fails, what it made may be there: Delete removes it.
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

// Delete removes a stopped instance and makes sure it is gone. Nothing to do if there is none. Locks that other
// instances hold on its disks survive it. ErrInUse if it is not stopped.
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
		// Lima ignores a directory without lima.yaml. It is below our own LIMA_HOME, under exactly this name.
		if err := os.RemoveAll(c.Dir(name)); err != nil {
			return err
		}
		return c.releaseLocks(ctx, name)
	}
	held, err := c.foreignLocks(ctx, in)
	if err != nil {
		return err
	}
	// limactl kills whatever its pid files say: look right before.
	if err := c.CleanStale(ctx, name); err != nil {
		return err
	}
	if f := look(in.Dir, in.VMType); f.agent.ours || f.driver.ours {
		return &Error{Message: fmt.Sprintf("instance %s is not stopped", name), Do: "stop it first: hermes-box stop", Kind: "busy", Err: ErrInUse}
	}
	// Forced: nothing of it runs, as has just been seen, and Lima refuses one whose lima.yaml it cannot read. Its
	// status tells less than a look: it fails after deleting if some other directory of LIMA_HOME is no instance.
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
