package component

import (
	"os"
	"strings"
	"testing"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
)

// Codex's TUI must not start its daemon, which copies Codex onto the data disk and updates it there. This holds in a
// new home, and in one whose config.toml does not mention the daemon. The config.toml in the home belongs to the user
// and is not changed.
func TestCodexStartsNoDaemon(t *testing.T) {
	for name, own := range map[string]string{
		"no file":             "",
		"other settings":      "model = \"x\"\n\n[features]\nweb_search_request = true\n",
		"an older box's file": "check_for_update_on_startup = false\ncli_auth_credentials_store = \"file\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			env := Env{Tree: durable.Tree{Root: t.TempDir(), After: func(string) { writes++ }}}
			if own != "" {
				put(t, env, layout.CodexHome+"/config.toml", own)
			}
			if err := (Codex{}).Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			// Codex 0.171.0 prints "daemon_auto_start stable false" for this file and each of the homes above.
			config, err := os.ReadFile(env.Path("/etc/codex/config.toml"))
			if err != nil || !strings.HasSuffix(string(config), "\n[features]\ndaemon_auto_start = false\n") {
				t.Errorf("%s, %v", config, err)
			}
			if got, _ := os.ReadFile(env.Path(layout.CodexHome, "config.toml")); string(got) != own {
				t.Errorf("the user's file is %q", got)
			}
			writes = 0
			put(t, env, layout.CodexConfig+".new", "left by a crash")
			if err := (Codex{}).Prepare(t.Context(), env); err != nil || writes != 0 {
				t.Errorf("again: %v, %d writes", err, writes)
			}
		})
	}
}
