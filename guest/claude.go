package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// claude is Claude Code: the native binary out of its npm package for the platform, or as such.
type claude struct{ plain }

func (claude) name() string { return "claude" }

func (claude) commands() map[string]string { return map[string]string{"claude": "bin/claude"} }

func (claude) stateDirs() []stateDir {
	return []stateDir{{path: agentHome + "/.claude", uid: agentID, mode: 0o700}}
}

func (claude) stage(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	part, to := filepath.Join(dir, ".part"), filepath.Join(dir, "bin/claude")
	if err := os.Mkdir(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if len(c.Artifacts) != 1 {
		return fmt.Errorf("claude has %d artifacts; one is expected", len(c.Artifacts))
	}
	a := c.Artifacts[0]
	if g.isProgram(a) {
		if err := g.copyObject(ctx, a, to); err != nil {
			return err
		}
	} else {
		if err := g.unpack(ctx, c, a, part, 1); err != nil {
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

func (claude) smoke(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	return g.smokeVersion(ctx, nil, filepath.Join(dir, "bin/claude"), c.Version)
}

func (claude) health(_ context.Context, g *Guest, _ machine.Unit) (string, string) {
	return loggedIn(g, claude{}, "bin/claude", agentHome+"/.claude/.credentials.json")
}

// loggedIn is the health of an agent: it can be run, and somebody has logged in. Whether the login still holds
// only its vendor knows.
func loggedIn(g *Guest, c component, program, credentials string) (state, detail string) {
	if state, detail = runnable(g, c, program); state != protocol.Healthy {
		return state, detail
	}
	if info, err := os.Stat(g.Path(credentials)); err != nil || info.Size() == 0 {
		return protocol.SetupRequired, "not logged in"
	}
	return protocol.Healthy, ""
}
