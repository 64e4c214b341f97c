package limactl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
)

// Disk is one Lima disk.
type Disk struct {
	Name    string
	Size    int64  // bytes
	Format  string // raw or qcow2: the actual format, not always the requested one
	Dir     string
	InUseBy string // the instance that holds its lock; empty if none does
	Stale   bool   // the instance that holds the lock is gone: UnlockDisk removes the lock
}

type listedDisk struct {
	Name        string `json:"name"`
	Size        int64  `json:"size"`
	Format      string `json:"format"`
	Dir         string `json:"dir"`
	Instance    string `json:"instance"`
	InstanceDir string `json:"instanceDir"`
}

func (d listedDisk) disk() Disk {
	return Disk{Name: d.Name, Size: d.Size, Format: d.Format, Dir: d.Dir, InUseBy: d.Instance, Stale: d.stale()}
}

// HasDisk reports, from the files alone, whether a disk exists, even if only in part.
func (c *Client) HasDisk(name string) bool {
	return checkName("disk", name) == nil && exists(c.diskDir(name))
}

const diskLimit = 2 * time.Minute

// Disks returns all disks of this LIMA_HOME.
func (c *Client) Disks(ctx context.Context) ([]Disk, error) {
	all, err := c.listDisks(ctx)
	if err != nil {
		return nil, err
	}
	disks := make([]Disk, len(all))
	for i, d := range all {
		disks[i] = d.disk()
	}
	return disks, nil
}

// Disk returns one disk. The error is ErrNotFound if both Lima and the files say that there is none of exactly this
// name.
func (c *Client) Disk(ctx context.Context, name string) (Disk, error) {
	if err := checkName("disk", name); err != nil {
		return Disk{}, err
	}
	all, err := c.listDisks(ctx, name)
	if err != nil {
		return Disk{}, err
	}
	for _, d := range all {
		if d.Name == name {
			return d.disk(), nil
		}
	}
	if err := c.unlistedDisk(name); err != nil {
		return Disk{}, err
	}
	return Disk{}, fmt.Errorf("disk %s: %w", name, ErrNotFound)
}

// unlistedDisk returns the error for a disk that limactl disk list does not show although its directory exists; nil if
// the directory does not exist either.
func (c *Client) unlistedDisk(name string) error {
	dir := c.diskDir(name)
	if !exists(dir) {
		return nil
	}
	return &Error{
		Message: fmt.Sprintf("limactl disk list does not show disk %s, but its directory %s is there", name, dir),
		Do:      "ls -l " + shellescape.Quote(dir) + "; " + c.CommandLine("disk", "list"),
	}
}

// listDisks lists the disks with these names, or all disks if there are no names.
func (c *Client) listDisks(ctx context.Context, names ...string) ([]listedDisk, error) {
	out, err := c.ask(ctx, append([]string{"disk", "list", "--json"}, names...)...)
	if err != nil {
		return nil, err
	}
	all, err := decode[listedDisk](out.stdout)
	if err != nil {
		return nil, fmt.Errorf("limactl disk list: %w", err)
	}
	return all, nil
}

func (c *Client) diskDir(name string) string {
	return filepath.Join(c.config.Home, "_disks", name)
}

// CreateDisk makes a disk of that many bytes, without a file system. The error is ErrExists if there is one of that
// name.
//
// It asks for the raw format, because vz accepts nothing else. Lima 2.1.3 still makes qcow2 if qemu-img is installed;
// Disk returns the actual format.
func (c *Client) CreateDisk(ctx context.Context, name string, bytes int64) error {
	if err := checkName("disk", name); err != nil {
		return err
	}
	if bytes < 1 {
		return &Error{Message: fmt.Sprintf("disk %s: size %d is not positive", name, bytes), Kind: "invalid_input"}
	}
	if exists(c.diskDir(name)) {
		return &Error{Message: fmt.Sprintf("disk %s already exists", name), Kind: "already_exists", Err: ErrExists}
	}
	if _, err := c.run(ctx, diskLimit, nil, "disk", "create", name, "--format", "raw", "--size", strconv.FormatInt(bytes, 10)); err != nil {
		return err
	}
	d, err := c.Disk(ctx, name)
	if err != nil {
		return fmt.Errorf("limactl created disk %s, but it is not there: %w", name, err)
	}
	if d.Size != bytes {
		return fmt.Errorf("disk %s has %d bytes instead of %d", name, d.Size, bytes)
	}
	return nil
}

// DeleteDisk deletes a disk and checks that it is gone, because limactl skips a disk that a stopped instance still
// names, and exits with 0. It does nothing if there is no such disk. The error is ErrInUse if an instance holds or
// names it.
func (c *Client) DeleteDisk(ctx context.Context, name string) error {
	if err := checkName("disk", name); err != nil {
		return err
	}
	if !exists(c.diskDir(name)) {
		return nil
	}
	if hasNoData(c.diskDir(name)) {
		// Lima neither reads nor deletes such a directory. This one is in this client's LIMA_HOME and has exactly this name.
		return os.RemoveAll(c.diskDir(name))
	}
	d, err := c.Disk(ctx, name)
	if err != nil {
		return err
	}
	if d.InUseBy != "" && !exists(c.Dir(d.InUseBy)) {
		if err := c.UnlockDisk(ctx, name); err != nil {
			return err
		}
	}
	out, err := c.run(ctx, diskLimit, nil, "disk", "delete", name)
	if err != nil && !strings.Contains(out.stderr, "in use by instance") {
		return err
	}
	if !exists(c.diskDir(name)) {
		return err
	}
	return &Error{
		Message: fmt.Sprintf("disk %s is still there: %s", name, firstWarning(out.stderr)),
		Do:      "delete the instance that uses it first",
		Kind:    "busy",
		Err:     ErrInUse,
	}
}

// firstWarning returns the first warning or fatal error of a log, which has the reason. Later warnings only suggest
// commands.
func firstWarning(stderr string) string {
	for line := range strings.Lines(stderr) {
		line = strings.TrimRight(line, "\n")
		if level := logField(line, "level"); level == "warning" || level == "fatal" {
			return logMessage(line)
		}
	}
	return lastLine(stderr)
}

// hasNoData reports whether dir is the directory of a disk without data, which a killed disk create or delete leaves.
func hasNoData(dir string) bool {
	if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, "datadisk"))
	return errors.Is(err, os.ErrNotExist)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
