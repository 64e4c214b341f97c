package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hermes-box/guest/protocol"
)

func (g *Guest) releasePath(c component, dir string) string {
	return g.Path(releasesDir(c.name()), dir)
}

func (g *Guest) stagingPath(c component, id string) string {
	return g.releasePath(c, ".staging-"+id)
}

func (g *Guest) currentPath(c component) string { return g.Path(currentDir, c.name()) }

// currentRelease is the directory name that current/<component> points to; "" if it points to none.
func (g *Guest) currentRelease(c component) (string, error) {
	target, err := os.Readlink(g.currentPath(c))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if target != g.releaseTarget(c, path.Base(target)) {
		return "", nil
	}
	return path.Base(target), nil
}

// releaseTarget is what the link to a release holds. Links are relative: they hold below any root.
func (g *Guest) releaseTarget(c component, dir string) string {
	rel, _ := filepath.Rel(currentDir, path.Join(releasesDir(c.name()), dir))
	return rel
}

// keptRelease finds a release of exactly these artifacts among those on disk; nil if there is none, or not whole.
func (g *Guest) keptRelease(ctx context.Context, c component, want protocol.Component, k kept) (*release, error) {
	digest := protocol.ReleaseDigest(want.Artifacts)
	for _, r := range []*release{k.Current, k.Previous} {
		if r == nil || r.digest() != digest || r.Component.Version != want.Version {
			continue
		}
		if ok, err := g.whole(ctx, c, r.Dir); ok || err != nil {
			return r, err
		}
	}
	return nil, nil
}

// freeName is the directory for a new release: its version, with a number behind it where that is taken, as
// when the same version is pinned anew with other artifacts.
func (g *Guest) freeName(c component, version, current string, k kept) (string, error) {
	name := version
	for n := 2; n < 10; n++ {
		_, err := os.Lstat(g.releasePath(c, name))
		taken := name == current || k.Current != nil && k.Current.Dir == name || k.Previous != nil && k.Previous.Dir == name
		if errors.Is(err, fs.ErrNotExist) && !taken {
			return name, nil
		}
		name = fmt.Sprintf("%s-%d", version, n)
	}
	return "", fmt.Errorf("no free directory for %s %s in %s", c.name(), version, releasesDir(c.name()))
}

// whole tells whether a release has its directory, its program and all it needs outside of them.
func (g *Guest) whole(ctx context.Context, c component, dir string) (bool, error) {
	path := g.releasePath(c, dir)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return false, nil
	}
	if program, ok := c.commands()[c.name()]; ok && !isProgram(path, program) {
		return false, nil
	}
	return c.intact(ctx, g, path)
}

// link makes a release current, or none where dir is empty: one atomic swap, then the commands.
func (g *Guest) link(c component, dir string) error {
	current := g.currentPath(c)
	if err := g.dropHalfLink(current); err != nil {
		return err
	}
	if dir == "" {
		if err := g.remove(current); err != nil {
			return err
		}
	} else {
		if err := os.MkdirAll(filepath.Dir(current), 0o755); err != nil {
			return err
		}
		if err := g.swapLink(current, g.releaseTarget(c, dir)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(g.Path(commandDir), 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.commands())) {
		link, target := g.Path(commandDir, name), commandTarget(c, name)
		if err := g.dropHalfLink(link); err != nil {
			return err
		}
		old, err := os.Readlink(link)
		ours := err == nil && old == target
		_, missing := os.Stat(filepath.Join(current, c.commands()[name]))
		switch {
		case missing != nil && ours:
			err = g.remove(link)
		case missing != nil:
			err = nil
		case !ours && !errors.Is(err, fs.ErrNotExist):
			err = nil // not ours; commandsFree has refused, so this is the way back
		default:
			err = g.swapLink(link, target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// commandsFree refuses if a command of the component is there and not ours.
func (g *Guest) commandsFree(c component) error {
	for _, name := range slices.Sorted(maps.Keys(c.commands())) {
		old, err := os.Readlink(g.Path(commandDir, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && old == commandTarget(c, name) {
			continue
		}
		return &protocol.Error{Code: "already_exists", Message: fmt.Sprintf("%s/%s is not a link of ours", commandDir, name),
			Hint: "move it away inside the box, then run the command again"}
	}
	return nil
}

// linked tells whether a release is current and has its commands.
func (g *Guest) linked(c component, dir string) bool {
	if now, err := g.currentRelease(c); err != nil || now != dir {
		return false
	}
	for name, path := range c.commands() {
		if _, err := os.Stat(filepath.Join(g.currentPath(c), path)); err != nil {
			continue
		}
		if old, err := os.Readlink(g.Path(commandDir, name)); err != nil || old != commandTarget(c, name) {
			return false
		}
	}
	return true
}

func commandTarget(c component, name string) string {
	rel, _ := filepath.Rel(commandDir, path.Join(currentDir, c.name(), c.commands()[name]))
	return rel
}

// dropRelease removes one release by its exact name, never the current one.
func (g *Guest) dropRelease(ctx context.Context, c component, dir string) error {
	now, err := g.currentRelease(c)
	if err != nil {
		return err
	}
	if !safeName(dir) || now == dir {
		return fmt.Errorf("%s %q is current and stays", c.name(), dir)
	}
	path := g.releasePath(c, dir)
	if err := c.discard(ctx, g, path); err != nil {
		return err
	}
	return g.removeTree(path)
}

// seal makes a staged tree readable by all and writable by root alone, so that no agent updates itself.
func seal(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm()&0o755 | 0o444
		if d.IsDir() || mode&0o111 != 0 {
			mode |= 0o555
		}
		if mode == info.Mode().Perm() {
			return nil
		}
		return os.Chmod(path, mode)
	})
}

// safeName tells whether a version or an id may be part of a path.
func safeName(name string) bool {
	if name == "" || len(name) > 240 || name[0] == '.' || name[0] == '-' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") == ""
}
