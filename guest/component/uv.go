package component

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// UV is Astral's uv, from the wheel of its Python package or from the release archive. Only uv and uvx are kept.
type UV struct{ programOnly }

func (UV) Name() string { return "uv" }

func (UV) Commands() map[string]string { return map[string]string{"uv": "bin/uv", "uvx": "bin/uvx"} }

func (UV) Stage(ctx context.Context, env Env, c protocol.Component, dir string) error {
	part, bin := filepath.Join(dir, ".part"), filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	for _, a := range c.Artifacts {
		if err := env.unpack(ctx, c, a, part, 0); err != nil {
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
			if err := os.Chmod(to, 0o755); err != nil { // some wheels do not record the mode
				return err
			}
			break
		}
	}
	if !isFile(bin, "uv") {
		return fmt.Errorf("no artifact of uv has the program uv")
	}
	return os.RemoveAll(part)
}

func (UV) Smoke(ctx context.Context, env Env, c protocol.Component, dir string) error {
	return env.smokeVersion(ctx, nil, filepath.Join(dir, "bin/uv"), c.Version)
}

func (UV) Health(_ context.Context, env Env, _ machine.Unit) (string, string) {
	return runnable(env, UV{}, "bin/uv")
}
