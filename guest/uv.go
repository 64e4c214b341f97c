package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// uv is Astral's uv: the wheel of its Python package, or the release archive. Of either only the two programs
// are kept.
type uv struct{ plain }

func (uv) name() string { return "uv" }

func (uv) commands() map[string]string { return map[string]string{"uv": "bin/uv", "uvx": "bin/uvx"} }

func (uv) stage(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	part, bin := filepath.Join(dir, ".part"), filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	for _, a := range c.Artifacts {
		if err := g.unpack(ctx, c, a, part, 0); err != nil {
			return err
		}
	}
	for _, name := range []string{"uv", "uvx"} {
		for _, pattern := range []string{"uv-*.data/scripts/" + name, "uv-*/" + name, name} {
			found, err := filepath.Glob(filepath.Join(part, pattern))
			if err != nil {
				return err
			}
			if len(found) != 1 {
				continue
			}
			to := filepath.Join(bin, name)
			if err := os.Rename(found[0], to); err != nil {
				return err
			}
			if err := os.Chmod(to, 0o755); err != nil { // some wheels lose the mode
				return err
			}
			break
		}
	}
	if !isFile(bin, "uv") {
		return fmt.Errorf("no artifact of uv holds the program uv")
	}
	return os.RemoveAll(part)
}

func (uv) smoke(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	return g.smokeVersion(ctx, nil, filepath.Join(dir, "bin/uv"), c.Version)
}

func (uv) health(_ context.Context, g *Guest, _ machine.Unit) (string, string) {
	return runnable(g, uv{}, "bin/uv")
}
