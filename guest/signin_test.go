package guest_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"hermes-box/internal/rehearsal/simulate"
)

// connected is a machine on which Executor answers each GET request with status and body.
type connected struct {
	*simulate.Machine
	status int
	body   string
}

func (c *connected) Get(context.Context, string, map[string]string) (int, []byte, error) {
	return c.status, []byte(c.body), nil
}

func TestSignedIn(t *testing.T) {
	b := linkable(t)
	c := &connected{b.sys, 200, "[]"}
	b.Machine = c
	ask := func() string {
		t.Helper()
		s, err := b.Login().SignedIn(t.Context())
		must(t, err)
		var out strings.Builder
		for _, s := range s.SignIns {
			fmt.Fprintf(&out, "%s %v %s\n", s.Name, s.Done, s.Detail)
		}
		return out.String()
	}
	program := func(name, script string) {
		b.write("opt/hermes-box/current/"+name+"/bin/"+name, "#!/bin/sh\n"+script+"\n")
	}
	b.write("data/home/agent/.hermes/.env", "MCP_GITHUB_API_KEY=x\n")
	b.write("data/home/agent/.hermes/config.yaml", "")
	program("claude", `test "$*" = "auth status" && echo warning >&2 && echo '{"loggedIn": false, "authMethod": "none"}' && exit 1`)
	program("codex", `test "$*" = "login status" && echo "Not logged in" >&2 && exit 1`)
	want := `claude false not signed in
codex false not signed in
hermes false not set up
model false no model chosen
executor false no service connected yet
token false Hermes has no token
`
	if got := ask(); got != want {
		t.Errorf("nobody signed in:\n%s", got)
	}

	program("claude", `test "$HOME" -ef "$CLAUDE_CONFIG_DIR/.." && echo '{"loggedIn": true, "authMethod": "claude.ai"}'`)
	program("codex", `test "$HOME" -ef "$CODEX_HOME/.." && echo "Logged in using ChatGPT" >&2`)
	_, err := b.link(t.Context())
	must(t, err)
	token, err := os.ReadFile(b.Path("/data/secrets/executor-token.env"))
	must(t, err)
	b.write("data/home/agent/.hermes/.env", strings.Replace(string(token), "EXECUTOR_AUTH_TOKEN", "OPENAI_API_KEY=k\nMCP_EXECUTOR_API_KEY", 1))
	b.write("data/home/agent/.hermes/config.yaml", b.hermesFile("config.yaml")+"model: {default: gpt}\n")
	c.body = `[{"id":1},{"id":2}]`
	want = `claude true signed in claude.ai
codex true logged in using ChatGPT
hermes true set up
model true gpt
executor true 2 services connected
token true Hermes uses Executor
`
	if got := ask(); got != want {
		t.Errorf("all signed in:\n%s", got)
	}

	// Executor does not accept the token and does not list its connections, and the programs print something else.
	b.write("data/home/agent/.hermes/.env", "MCP_EXECUTOR_API_KEY=old\n")
	program("claude", "exit 2")
	program("codex", "echo huh")
	b.write("data/home/agent/.codex/auth.json", "{}")
	c.status, c.body = 404, ""
	want = `claude false not logged in
codex true it has stored credentials
hermes true set up
model true gpt
executor false it does not list its connections: HTTP status 404
token false Executor does not accept the token of Hermes: its MCP endpoint answers with HTTP status 401
`
	if got := ask(); got != want {
		t.Errorf("odd answers:\n%s", got)
	}
	must(t, os.Remove(b.Path("/var/lib/hermes-box/applied.json")))
	if got := ask(); !strings.HasPrefix(got, "claude false claude is not installed\n") || strings.Contains(got, "true") {
		t.Errorf("nothing installed:\n%s", got)
	}
}
