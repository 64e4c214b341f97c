package component

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// Node is Node.js, from the official archive or from an npm package that has only the binary. The npm package "npm" may
// be a second artifact. In the release, node, npm and npx are at the paths that they have in the official archive.
type Node struct{ programOnly }

func (Node) Name() string { return "node" }

func (Node) Commands() map[string]string {
	return map[string]string{"node": "bin/node", "npm": "bin/npm", "npx": "bin/npx"}
}

func (Node) Stage(ctx context.Context, env Env, c protocol.Component, dir string) error {
	npm := filepath.Join(dir, "lib/node_modules/npm")
	for i, a := range c.Artifacts {
		part := filepath.Join(dir, ".part"+strconv.Itoa(i))
		if err := env.unpack(ctx, c, a, part, 1); err != nil {
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
			return fmt.Errorf("%s has neither bin/node nor bin/npm-cli.js", a.Name)
		}
	}
	if !isFile(dir, "bin/node") {
		return fmt.Errorf("no artifact of node has bin/node")
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

func (Node) Smoke(ctx context.Context, env Env, c protocol.Component, dir string) error {
	bin := filepath.Join(dir, "bin")
	if err := env.smokeVersion(ctx, []string{bin}, filepath.Join(bin, "node"), c.Version); err != nil {
		return err
	}
	if !isFile(dir, "bin/npm") {
		return nil
	}
	_, err := env.smokeRun(ctx, []string{bin}, filepath.Join(bin, "npm"), "--version")
	return err
}

func (Node) Health(_ context.Context, env Env, _ machine.Unit) (string, string) {
	return runnable(env, Node{}, "bin/node")
}
