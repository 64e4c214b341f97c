package limactl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// stale reports whether the directory of the instance that holds the lock is gone. It returns false if it cannot tell.
func (d listedDisk) stale() bool {
	if d.Instance == "" || !filepath.IsAbs(d.InstanceDir) {
		return false
	}
	_, err := os.Lstat(d.InstanceDir)
	return errors.Is(err, os.ErrNotExist)
}

// UnlockDisk removes a lock that a crash has left. It does nothing if the disk is not locked. The error is ErrNotFound if
// there is no such disk, and ErrInUse if Lima refuses, because the instance that holds the lock runs or cannot be read.
func (c *Client) UnlockDisk(ctx context.Context, name string) error {
	d, err := c.Disk(ctx, name)
	if err != nil || d.InUseBy == "" {
		return err
	}
	if err := c.CleanStale(ctx, d.InUseBy); err != nil {
		return err
	}
	out, err := c.run(ctx, diskLimit, nil, "disk", "unlock", name)
	if err != nil {
		return err
	}
	if d, err = c.Disk(ctx, name); err != nil {
		return err
	}
	if d.InUseBy != "" {
		return &Error{
			Message: fmt.Sprintf("disk %s is still locked by instance %s: %s", name, d.InUseBy, firstWarning(out.stderr)),
			Do:      "stop the instance that uses it first",
			Kind:    "busy",
			Err:     ErrInUse,
		}
	}
	return nil
}

// locks holds the disks that other instances have locked, by name.
type locks map[string]listedDisk

// foreignLocks returns the locks that other instances hold on the disks of an instance.
func (c *Client) foreignLocks(ctx context.Context, in Instance) (locks, error) {
	held := locks{}
	if len(in.Disks) == 0 {
		return held, nil
	}
	all, err := c.listDisks(ctx, in.Disks...)
	if err != nil {
		return nil, err
	}
	shown := map[string]bool{}
	for _, d := range all {
		shown[d.Name] = true
		if d.Instance != "" && d.Instance != in.Name {
			held[d.Name] = d
		}
	}
	for _, name := range in.Disks {
		if err := c.unlistedDisk(name); err != nil && !shown[name] && !hasNoData(c.diskDir(name)) {
			return nil, err // the holder of the lock is unknown
		}
	}
	return held, nil
}

// restoreLocks restores locks that limactl delete and stop --force have removed: they unlock every disk that an
// instance names, even one that another instance holds. Without the lock, two instances could mount that disk.
func (c *Client) restoreLocks(ctx context.Context, held locks) error {
	if len(held) == 0 {
		return nil
	}
	all, err := c.listDisks(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range all {
		was, ok := held[d.Name]
		if !ok || d.Instance != "" {
			continue
		}
		if err := os.Symlink(was.InstanceDir, filepath.Join(d.Dir, "in_use_by")); err != nil {
			errs = append(errs, fmt.Errorf("disk %s lost the lock of instance %s: %w", d.Name, was.Instance, err))
		}
	}
	return errors.Join(errs...)
}

// releaseLocks unlocks the disks that a deleted instance still holds: Lima leaves them locked if it could not read
// lima.yaml.
func (c *Client) releaseLocks(ctx context.Context, instance string) error {
	disks, err := c.Disks(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range disks {
		if d.InUseBy == instance {
			errs = append(errs, c.UnlockDisk(ctx, d.Name))
		}
	}
	return errors.Join(errs...)
}
