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

// Codex is OpenAI's Codex: the directories bin, codex-path and codex-resources from its npm package for the platform or
// from the release archive. Codex looks for its helpers in them, so they stay together.
type Codex struct{ programOnly }

func (Codex) Name() string { return "codex" }

func (Codex) Commands() map[string]string { return map[string]string{"codex": "bin/codex"} }

var codexHome = durable.Dir{Path: layout.CodexHome, UID: layout.AgentID, Mode: 0o700}

func (Codex) StateDirs() []durable.Dir { return []durable.Dir{codexHome} }

// codexConfig is written once. Logins go to a file, because the box has no keyring.
const codexConfig = `check_for_update_on_startup = false
cli_auth_credentials_store = "file"
`

func (Codex) Prepare(_ context.Context, env Env) error {
	return env.Seed(codexHome, "config.toml", []byte(codexConfig), 0o600, env.Machine)
}

func (Codex) Stage(ctx context.Context, env Env, c protocol.Component, dir string) error {
	part := filepath.Join(dir, ".part")
	for _, a := range c.Artifacts {
		if err := env.unpack(ctx, c, a, part, 0); err != nil {
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
	return fmt.Errorf("no artifact of codex has exactly one bin/codex")
}

func (Codex) Smoke(ctx context.Context, env Env, c protocol.Component, dir string) error {
	return env.smokeVersion(ctx, nil, filepath.Join(dir, "bin/codex"), c.Version)
}

func (Codex) Health(_ context.Context, env Env, _ machine.Unit) (string, string) {
	return loggedIn(env, Codex{}, "bin/codex", codexHome.Path+"/auth.json")
}
