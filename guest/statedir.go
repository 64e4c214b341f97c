package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hermes-box/guest/protocol"
)

// makeStateDirs makes the directories a component may touch on the data disk, and its seeds. What is there
// keeps its owner, mode and content: it is the user's.
func (g *Guest) makeStateDirs(ctx context.Context, c component) error {
	for _, d := range c.stateDirs() {
		if err := os.MkdirAll(filepath.Dir(g.Path(d.path)), 0o755); err != nil {
			return err
		}
		if _, err := g.makeDir(d); err != nil {
			return err
		}
	}
	return c.prepare(ctx, g)
}

// makeDir makes a directory beside and renames it: under its name it has its owner and mode, or is not there, so
// that whoever finds it finds it whole. One that is there is left alone.
func (g *Guest) makeDir(d stateDir) (made bool, err error) {
	path := g.Path(d.path)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	beside := besideName(path)
	if err := g.remove(beside); err != nil {
		return false, err
	}
	if err := os.Mkdir(beside, fs.FileMode(d.mode)); err != nil {
		return false, err
	}
	g.did("make " + filepath.Base(beside))
	if err := errors.Join(os.Chmod(beside, fs.FileMode(d.mode)), g.Machine.Chown(beside, d.uid, d.uid)); err != nil {
		return false, errors.Join(err, os.Remove(beside))
	}
	return true, g.rename(beside, path)
}

// seed writes a file into a state directory, unless there is something of that name. It never follows a link
// out of the directory.
func (g *Guest) seed(dir stateDir, name string, data []byte, mode fs.FileMode) error {
	root, err := os.OpenRoot(g.Path(dir.path))
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Lstat(name); err == nil {
		return nil
	}
	return g.writeIn(root, dir, name, data, mode)
}

// writeIn writes a file of a state directory for its user: beside, synced, renamed. What is there of that name goes,
// and no link is followed.
func (g *Guest) writeIn(root *os.Root, dir stateDir, name string, data []byte, mode fs.FileMode) error {
	beside := name + ".new"
	if err := root.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	path := g.Path(dir.path, name)
	if err := g.Machine.Chown(path+".new", dir.uid, dir.uid); err != nil {
		return err
	}
	if err := root.Rename(beside, name); err != nil {
		return err
	}
	g.did("write in " + name)
	return syncDir(filepath.Dir(path))
}

// writePorts records the ports for the units. Where they were others before, every service that may run with those
// is noted first: whoever has the next turn of its component restarts it, however this run ends.
func (g *Guest) writePorts(p protocol.Ports) (changed bool, err error) {
	if old, err := g.ports(); err == nil && old == p {
		return false, nil
	}
	if err := os.MkdirAll(g.Path(movedDir), 0o755); err != nil {
		return false, err
	}
	for _, c := range components() {
		if c.unit() == "" {
			continue
		}
		if err := g.put(g.movedPath(c.unit()), nil, 0o644); err != nil {
			return false, err
		}
	}
	text := fmt.Sprintf("EXECUTOR_PORT=%d\nDASHBOARD_PORT=%d\n", p.Executor, p.Dashboard)
	return true, g.put(g.Path(portsFile), []byte(text), 0o644)
}

// movedPath is the note that a unit has not been restarted since the ports moved.
func (g *Guest) movedPath(unit string) string { return g.Path(movedDir, unit) }

// portsMoved tells whether a unit has not been restarted since the ports moved.
func (g *Guest) portsMoved(unit string) (bool, error) {
	_, err := os.Lstat(g.movedPath(unit))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ports are the ones recorded last.
func (g *Guest) ports() (p protocol.Ports, err error) {
	text, err := os.ReadFile(g.Path(portsFile))
	if err != nil {
		return p, err
	}
	if _, err := fmt.Sscanf(string(text), "EXECUTOR_PORT=%d\nDASHBOARD_PORT=%d\n", &p.Executor, &p.Dashboard); err != nil {
		return p, fmt.Errorf("%s: %w", portsFile, err)
	}
	return p, nil
}

func validPorts(p protocol.Ports) bool {
	ok := func(n int) bool { return n > 0 && n < 1<<16 }
	return ok(p.Executor) && ok(p.Dashboard) && p.Executor != p.Dashboard
}
