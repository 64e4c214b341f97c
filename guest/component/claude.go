package component

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// Claude is Claude Code: the native binary. Its artifact is the npm package for the platform, or the binary alone.
type Claude struct{ programOnly }

func (Claude) Name() string { return "claude" }

func (Claude) Commands() map[string]string { return map[string]string{"claude": "bin/claude"} }

func (Claude) StateDirs() []durable.Dir {
	return []durable.Dir{{Path: layout.ClaudeHome, UID: layout.AgentID, Mode: 0o700}}
}

func (Claude) Stage(ctx context.Context, env Env, c protocol.Component, dir string) error {
	part, to := filepath.Join(dir, ".part"), filepath.Join(dir, "bin/claude")
	if err := os.Mkdir(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if len(c.Artifacts) != 1 {
		return fmt.Errorf("claude has %d artifacts, not one", len(c.Artifacts))
	}
	a := c.Artifacts[0]
	if env.objects().IsProgram(a) {
		if err := env.objects().Copy(ctx, a, to); err != nil {
			return err
		}
	} else {
		if err := env.unpack(ctx, c, a, part, 1); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(part, "claude"), to); err != nil {
			return err
		}
		if err := os.RemoveAll(part); err != nil {
			return err
		}
	}
	return os.Chmod(to, 0o755)
}

func (Claude) Smoke(ctx context.Context, env Env, c protocol.Component, dir string) error {
	return env.smokeVersion(ctx, nil, filepath.Join(dir, "bin/claude"), c.Version)
}

func (Claude) Health(_ context.Context, env Env, _ machine.Unit) (string, string) {
	return loggedIn(env, Claude{}, "bin/claude", layout.ClaudeHome+"/.credentials.json")
}

// loggedIn returns the health of an agent: whether it can be run, and whether somebody has logged in. Only the vendor
// could tell whether the login is still valid.
func loggedIn(env Env, c Component, program, credentials string) (state, detail string) {
	if state, detail = runnable(env, c, program); state != protocol.Healthy {
		return state, detail
	}
	if info, err := os.Stat(env.Path(credentials)); err != nil || info.Size() == 0 {
		return protocol.SetupRequired, "not logged in"
	}
	return protocol.Healthy, ""
}
