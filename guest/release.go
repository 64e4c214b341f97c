package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

func (g *Guest) releasePath(c component.Component, dir string) string {
	return g.Path(layout.ReleasesOf(c.Name()), dir)
}

func (g *Guest) stagingPath(c component.Component, id string) string {
	return g.releasePath(c, ".staging-"+id)
}

// keptRelease returns the kept release that has exactly this version and these artifacts; nil if there is none or it is
// not complete.
func (g *Guest) keptRelease(ctx context.Context, c component.Component, want protocol.Component, k kept) (*release, error) {
	digest := protocol.ReleaseDigest(want.Artifacts)
	for _, r := range []*release{k.Current, k.Previous} {
		if r == nil || r.digest() != digest || r.Component.Version != want.Version {
			continue
		}
		if ok, err := g.complete(ctx, c, r.Dir); ok || err != nil {
			return r, err
		}
	}
	return nil, nil
}

// freeName returns a name for the directory of a new release: its version, followed by a number if that name is taken.
// It is taken, for example, when the lock now has other artifacts for the same version.
func (g *Guest) freeName(c component.Component, version, current string, k kept) (string, error) {
	name := version
	for n := 2; n < 10; n++ {
		_, err := os.Lstat(g.releasePath(c, name))
		taken := name == current || k.Current != nil && k.Current.Dir == name || k.Previous != nil && k.Previous.Dir == name
		if errors.Is(err, fs.ErrNotExist) && !taken {
			return name, nil
		}
		name = fmt.Sprintf("%s-%d", version, n)
	}
	return "", fmt.Errorf("no free directory for %s %s in %s", c.Name(), version, layout.ReleasesOf(c.Name()))
}

// complete reports whether a release has its directory, its program and everything it needs outside of the directory.
func (g *Guest) complete(ctx context.Context, c component.Component, dir string) (bool, error) {
	path := g.releasePath(c, dir)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return false, nil
	}
	if program, ok := c.Commands()[c.Name()]; ok && !component.IsProgram(path, program) {
		return false, nil
	}
	return c.Intact(ctx, g.components(), path)
}

// removeRelease removes one release, but never the current one.
func (g *Guest) removeRelease(ctx context.Context, c component.Component, dir string) error {
	now, err := g.currentRelease(c)
	if err != nil {
		return err
	}
	if !layout.ValidName(dir) {
		return fmt.Errorf("%q is not the name of a release of %s", dir, c.Name())
	}
	if now == dir {
		return fmt.Errorf("%s %s is current and cannot be removed", c.Name(), dir)
	}
	path := g.releasePath(c, dir)
	if err := c.Discard(ctx, g.components(), path); err != nil {
		return err
	}
	return g.RemoveAll(path)
}
