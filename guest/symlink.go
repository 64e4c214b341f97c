package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

func (g *Guest) currentPath(c component.Component) string { return g.Path(layout.CurrentOf(c.Name())) }

// currentRelease returns the name of the release directory that current/<component> points to; empty if there is none.
func (g *Guest) currentRelease(c component.Component) (string, error) {
	target, err := os.Readlink(g.currentPath(c))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if target != releaseTarget(c, path.Base(target)) {
		return "", nil
	}
	return path.Base(target), nil
}

// releaseTarget returns the target of current/<component>. It is relative, so that it is valid below any root.
func releaseTarget(c component.Component, dir string) string {
	rel, _ := filepath.Rel(layout.Current, path.Join(layout.ReleasesOf(c.Name()), dir))
	return rel
}

// commandTarget returns the target of /usr/local/bin/<name>. It goes through current/<component>.
func commandTarget(c component.Component, name string) string {
	rel, _ := filepath.Rel(layout.Commands, path.Join(layout.CurrentOf(c.Name()), c.Commands()[name]))
	return rel
}

// makeCurrent points the symlink current/<component> to a release, in one atomic step, and then links its commands. If
// dir is empty, no release is current afterwards.
func (g *Guest) makeCurrent(c component.Component, dir string) error {
	current := g.currentPath(c)
	if err := g.RemoveBeside(current); err != nil {
		return err
	}
	if dir == "" {
		if err := g.Remove(current); err != nil {
			return err
		}
	} else {
		if err := os.MkdirAll(filepath.Dir(current), 0o755); err != nil {
			return err
		}
		if err := g.Symlink(releaseTarget(c, dir), current); err != nil {
			return err
		}
	}
	return g.linkCommands(c)
}

// linkCommands links the commands of the current release into /usr/local/bin, and removes the links of commands that
// the release does not have. It does not touch anything else that has one of these names.
func (g *Guest) linkCommands(c component.Component) error {
	if err := os.MkdirAll(g.Path(layout.Commands), 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Commands())) {
		link, target := g.Path(layout.Commands, name), commandTarget(c, name)
		if err := g.RemoveBeside(link); err != nil {
			return err
		}
		old, err := os.Readlink(link)
		ours, free := err == nil && old == target, errors.Is(err, fs.ErrNotExist)
		_, err = os.Stat(filepath.Join(g.currentPath(c), c.Commands()[name]))
		switch has := err == nil; {
		case !has && ours:
			err = g.Remove(link)
		case has && (ours || free):
			err = g.Symlink(target, link)
		default:
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkCommands fails if /usr/local/bin has something else under the name of a command of the component.
func (g *Guest) checkCommands(c component.Component) error {
	for _, name := range slices.Sorted(maps.Keys(c.Commands())) {
		old, err := os.Readlink(g.Path(layout.Commands, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && old == commandTarget(c, name) {
			continue
		}
		return &protocol.Error{Code: "already_exists", Message: fmt.Sprintf("%s/%s was not made by hermes-box", layout.Commands, name),
			Hint: "move it away inside the box, then run the command again"}
	}
	return nil
}

// isCurrent reports whether the release in dir is current and its commands are linked.
func (g *Guest) isCurrent(c component.Component, dir string) bool {
	if now, err := g.currentRelease(c); err != nil || now != dir {
		return false
	}
	for name, path := range c.Commands() {
		if _, err := os.Stat(filepath.Join(g.currentPath(c), path)); err != nil {
			continue
		}
		if old, err := os.Readlink(g.Path(layout.Commands, name)); err != nil || old != commandTarget(c, name) {
			return false
		}
	}
	return true
}
