package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// codex is OpenAI's Codex: the tree bin, codex-path, codex-resources out of its npm package for the platform,
// or out of the release archive. It finds its helpers beside itself, so the tree stays whole.
type codex struct{ plain }

func (codex) name() string { return "codex" }

func (codex) commands() map[string]string { return map[string]string{"codex": "bin/codex"} }

var codexHome = stateDir{path: agentHome + "/.codex", uid: agentID, mode: 0o700}

func (codex) stateDirs() []stateDir { return []stateDir{codexHome} }

// codexConfig is written once. Logins go to a file, for there is no keyring in the box.
const codexConfig = `check_for_update_on_startup = false
cli_auth_credentials_store = "file"
`

func (codex) prepare(_ context.Context, g *Guest) error {
	return g.seed(codexHome, "config.toml", []byte(codexConfig), 0o600)
}

func (codex) stage(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	part := filepath.Join(dir, ".part")
	for _, a := range c.Artifacts {
		if err := g.unpack(ctx, c, a, part, 0); err != nil {
			return err
		}
	}
	for _, pattern := range []string{"package/vendor/*/bin/codex", "*/bin/codex", "bin/codex"} {
		found, err := filepath.Glob(filepath.Join(part, pattern))
		if err != nil {
			return err
		}
		if len(found) != 1 {
			continue
		}
		tree := filepath.Dir(filepath.Dir(found[0]))
		if tree == part {
			return moveChildren(part, dir)
		}
		if err := moveChildren(tree, dir); err != nil {
			return err
		}
		return os.RemoveAll(part)
	}
	return fmt.Errorf("no artifact of codex holds one bin/codex")
}

func (codex) smoke(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	return g.smokeVersion(ctx, nil, filepath.Join(dir, "bin/codex"), c.Version)
}

func (codex) health(_ context.Context, g *Guest, _ machine.Unit) (string, string) {
	return loggedIn(g, codex{}, "bin/codex", codexHome.path+"/auth.json")
}
