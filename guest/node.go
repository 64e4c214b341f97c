package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// node is Node.js: the official archive, or the npm package with the binary alone, beside the npm package
// "npm" or not. Both become the layout of the official archive.
type node struct{ plain }

func (node) name() string { return "node" }

func (node) commands() map[string]string {
	return map[string]string{"node": "bin/node", "npm": "bin/npm", "npx": "bin/npx"}
}

func (node) stage(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	npm := filepath.Join(dir, "lib/node_modules/npm")
	for i, a := range c.Artifacts {
		part := filepath.Join(dir, ".part"+strconv.Itoa(i))
		if err := g.unpack(ctx, c, a, part, 1); err != nil {
			return err
		}
		switch {
		case isFile(part, "bin/node"):
			if err := moveChildren(part, dir); err != nil {
				return err
			}
		case isFile(part, "bin/npm-cli.js"):
			if err := os.RemoveAll(npm); err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(npm), 0o755); err != nil {
				return err
			}
			if err := os.Rename(part, npm); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s holds neither bin/node nor bin/npm-cli.js", a.Name)
		}
	}
	if !isFile(dir, "bin/node") {
		return fmt.Errorf("no artifact of node holds bin/node")
	}
	for _, name := range []string{"npm", "npx"} {
		script := "lib/node_modules/npm/bin/" + name + "-cli.js"
		if _, err := os.Lstat(filepath.Join(dir, "bin", name)); err == nil || !isFile(dir, script) {
			continue
		}
		if err := os.Chmod(filepath.Join(dir, script), 0o755); err != nil {
			return err
		}
		if err := os.Symlink("../"+script, filepath.Join(dir, "bin", name)); err != nil {
			return err
		}
	}
	return nil
}

func (node) smoke(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	bin := filepath.Join(dir, "bin")
	if err := g.smokeVersion(ctx, []string{bin}, filepath.Join(bin, "node"), c.Version); err != nil {
		return err
	}
	if !isFile(dir, "bin/npm") {
		return nil
	}
	_, err := g.smokeRun(ctx, []string{bin}, filepath.Join(bin, "npm"), "--version")
	return err
}

func (node) health(_ context.Context, g *Guest, _ machine.Unit) (string, string) {
	return runnable(g, node{}, "bin/node")
}

// runnable is the cheap health of a component without a service: what is current has its program.
func runnable(g *Guest, c component, program string) (state, detail string) {
	if !isProgram(g.currentPath(c), program) {
		return protocol.FailedState, currentDir + "/" + c.name() + "/" + program + " cannot be run"
	}
	return protocol.Healthy, ""
}

// isProgram tells whether there is a file that can be run. It follows links.
func isProgram(elem ...string) bool {
	info, err := os.Stat(filepath.Join(elem...))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// isFile follows links.
func isFile(elem ...string) bool {
	info, err := os.Stat(filepath.Join(elem...))
	return err == nil && info.Mode().IsRegular()
}

// moveChildren moves what is in one directory into another and removes it.
func moveChildren(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(from)
}
