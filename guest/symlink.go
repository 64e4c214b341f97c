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

func (g *Guest) currentPath(c component.Component) string { return g.Path(layout.Current, c.Name()) }

// currentRelease is the directory name that current/<component> points to; "" if it points to none.
func (g *Guest) currentRelease(c component.Component) (string, error) {
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
func (g *Guest) releaseTarget(c component.Component, dir string) string {
	rel, _ := filepath.Rel(layout.Current, path.Join(layout.ReleasesOf(c.Name()), dir))
	return rel
}

// link makes a release current, or none where dir is empty: one atomic swap, then the commands.
func (g *Guest) link(c component.Component, dir string) error {
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
		if err := g.Symlink(g.releaseTarget(c, dir), current); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(g.Path(layout.Commands), 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Commands())) {
		link, target := g.Path(layout.Commands, name), commandTarget(c, name)
		if err := g.RemoveBeside(link); err != nil {
			return err
		}
		old, err := os.Readlink(link)
		ours := err == nil && old == target
		_, missing := os.Stat(filepath.Join(current, c.Commands()[name]))
		switch {
		case missing != nil && ours:
			err = g.Remove(link)
		case missing != nil:
			err = nil
		case !ours && !errors.Is(err, fs.ErrNotExist):
			err = nil // not ours; commandsFree has refused, so this is the way back
		default:
			err = g.Symlink(target, link)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// commandsFree refuses if a command of the component is there and not ours.
func (g *Guest) commandsFree(c component.Component) error {
	for _, name := range slices.Sorted(maps.Keys(c.Commands())) {
		old, err := os.Readlink(g.Path(layout.Commands, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && old == commandTarget(c, name) {
			continue
		}
		return &protocol.Error{Code: "already_exists", Message: fmt.Sprintf("%s/%s is not a link of ours", layout.Commands, name),
			Hint: "move it away inside the box, then run the command again"}
	}
	return nil
}

// linked tells whether a release is current and has its commands.
func (g *Guest) linked(c component.Component, dir string) bool {
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

func commandTarget(c component.Component, name string) string {
	rel, _ := filepath.Rel(layout.Commands, path.Join(layout.Current, c.Name(), c.Commands()[name]))
	return rel
}
