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

// codexConfig has the settings of every user's Codex in the box. Lines in the user's own config.toml override them. The
// features table keeps the TUI of Codex from starting a daemon that copies Codex into CODEX_HOME and updates the copy;
// logins go to a file, because the box has no keyring.
const codexConfig = `# Written by hermes-box. Put your own settings into ~/.codex/config.toml.
check_for_update_on_startup = false
cli_auth_credentials_store = "file"

[features]
daemon_auto_start = false
`

// Prepare writes the system-wide configuration of Codex.
func (Codex) Prepare(_ context.Context, env Env) error {
	path := env.Path(layout.CodexConfig)
	if old, err := os.ReadFile(path); err == nil && string(old) == codexConfig {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return env.Write(path, []byte(codexConfig), 0o644)
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
