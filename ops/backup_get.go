package ops

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
)

// BackupGot is the result of GetFiles.
type BackupGot struct {
	ID      string   `json:"id"`
	Paths   []string `json:"paths"` // files and directories that were made on this machine
	Files   int      `json:"files"`
	Bytes   int64    `json:"bytes"`
	Skipped []string `json:"skipped"` // sockets, pipes and devices
}

// GetFiles copies files out of a backup into a directory of this machine; the box is not touched. A path is absolute as
// in the box, or relative to /data; ~ is the home directory in the box. A directory comes with everything in it. Modes
// and times are kept, owners and extended attributes are not. GetFiles replaces nothing: if one of the names exists, it
// makes nothing. A copy gets its name only after all of it was compared with its digests. GetFiles also removes what
// killed earlier runs have left in the directory.
func (b *Box) GetFiles(ctx context.Context, given string, paths []string, dir string, sink Sink) (*BackupGot, error) {
	id, err := b.backupNamed(given)
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	g := &getting{dir: dir, result: &BackupGot{ID: id, Paths: []string{}, Skipped: []string{}}}
	for _, p := range paths {
		if err := g.want(p); err != nil {
			return nil, err
		}
	}
	defer g.close()
	plan := Plan{Operation: "backup", Box: b.Name(), AfterStep: b.AfterStep, Steps: []Step{
		{ID: "open", Title: "open the backup", Do: func(ctx context.Context, _ *Progress) error {
			sweepGets(g.dir)
			pool, err := b.OpenPool(ctx)
			if err != nil {
				return err
			}
			if g.bundle, err = pool.Load(ctx, id); err != nil {
				return err
			}
			return g.check()
		}},
		{ID: "get", Title: "copy the files", Do: g.get},
	}}
	if err := plan.Run(ctx, sink); err != nil {
		return nil, b.deletedMeanwhile(ctx, id, err)
	}
	return g.result, nil
}

// GotName returns the name that GetFiles gives the copy of a path.
func GotName(given string) (string, error) {
	g := &getting{}
	if err := g.want(given); err != nil {
		return "", err
	}
	return g.wanted[0].name, nil
}

// getting is one run of GetFiles.
type getting struct {
	dir    string
	wanted []wanted
	bundle *backup.Bundle
	temp   *scratch     // in dir
	root   *os.Root     // the copies in temp
	dirs   []tree.Entry // the directories that were made; Path is the name of the copy
	result *BackupGot
}

// wanted is a path in the backup, and the name that its copy gets.
type wanted struct {
	path []byte
	name string
}

// mounts are other names in the box for directories of the data disk: where they are mounted, and ~.
var mounts = []struct{ at, from string }{
	{protocol.Workspace, protocol.AgentHome + "/workspace"},
	{protocol.LoginHome, protocol.AgentHome},
	{"~", protocol.AgentHome},
}

// inBox returns a path in the box as a path on the data disk. Any other path is returned unchanged.
func inBox(p string) string {
	for _, m := range mounts {
		if rest, ok := strings.CutPrefix(p, m.at); ok && (rest == "" || rest[0] == '/') {
			return m.from + rest
		}
	}
	return p
}

// want adds a path that the user has given.
func (g *getting) want(given string) error {
	clean := inBox(path.Clean(given))
	// The shell of this machine replaces ~ by a home directory that the data disk does not have.
	if home := os.Getenv("HOME"); home != "" && home != "/" && !strings.HasPrefix(clean+"/", protocol.DataDir+"/") {
		if rest, ok := strings.CutPrefix(clean, path.Clean(home)); ok && (rest == "" || rest[0] == '/') {
			clean = protocol.AgentHome + rest
		}
	}
	if path.IsAbs(clean) {
		rest, ok := strings.CutPrefix(clean, protocol.DataDir)
		if !ok || rest != "" && rest[0] != '/' {
			return fault.New(fault.InvalidInput, "%q is not on the data disk, and a backup holds only the data disk", given).
				Hint("give a path below %s, %s or %s", protocol.DataDir, protocol.LoginHome, protocol.Workspace)
		}
		clean = strings.TrimPrefix(rest, "/")
	}
	if clean == "" {
		clean = "."
	}
	if given == "" || !tree.ValidPath([]byte(clean)) {
		return fault.New(fault.InvalidInput, "%q is not a path on the data disk", given).
			Hint("give a path below %s, or one relative to it", protocol.DataDir)
	}
	w := wanted{[]byte(clean), path.Base(clean)}
	if clean == "." {
		w.name = path.Base(protocol.DataDir)
	}
	for _, other := range g.wanted {
		if other.name == w.name {
			return fault.New(fault.InvalidInput, "both %q and %q would become %s", other.path, w.path, filepath.Join(g.dir, w.name)).
				Hint("get them one after the other, with another --to DIR")
		}
	}
	g.wanted = append(g.wanted, w)
	return nil
}

// check returns an error if a path is not in the backup, if a name is taken, or if the directory does not exist.
func (g *getting) check() error {
	for _, w := range g.wanted {
		if _, err := g.bundle.Entry(w.path); err != nil {
			return err
		}
		if at := filepath.Join(g.dir, w.name); !missing(at) {
			return inTheWay(at)
		}
	}
	if info, err := os.Stat(g.dir); err == nil && !info.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.InvalidInput, "%s is not a directory", g.dir).Hint("give a directory with --to DIR")
	} else if err != nil {
		return fault.New(fault.InvalidInput, "there is no directory %s", g.dir).Hint("mkdir -p %s", shellescape.Quote(g.dir))
	}
	return nil
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func inTheWay(path string) error {
	return fault.New(fault.AlreadyExists, "%s exists already, and is not replaced", path).Hint("give another directory with --to DIR")
}
