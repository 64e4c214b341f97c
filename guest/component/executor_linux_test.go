package component

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// answers holds the answers of an Executor.
type answers struct {
	health, mcp int // status codes; if health is 0, Executor does not listen
	body        string
}

// listen serves the answers on loopback and returns the port. The MCP endpoint refuses wrong tokens.
func (a answers) listen(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/health":
			w.WriteHeader(a.health)
		case r.Header.Get("Authorization") != "Bearer 0123456789abcdef0123456789abcdef":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.WriteHeader(a.mcp)
			fmt.Fprint(w, a.body)
		}
	}))
	if a.health == 0 {
		server.Close()
	} else {
		t.Cleanup(server.Close)
	}
	return server.URL[strings.LastIndex(server.URL, ":")+1:]
}

func TestExecutorHealth(t *testing.T) {
	active := machine.Unit{Active: "active"}
	const token = "EXECUTOR_AUTH_TOKEN=0123456789abcdef0123456789abcdef\n"
	const initialized = `{"result":{"serverInfo":{}}}`
	for _, tt := range []struct {
		name  string
		unit  machine.Unit
		says  answers
		token string
		want  string
	}{
		{"asks for a token and answers in MCP", active, answers{401, 200, initialized}, token, protocol.Healthy},
		{"open and answers in MCP", active, answers{200, 200, initialized}, token, protocol.Healthy},
		{"not running", machine.Unit{Active: "inactive"}, answers{}, token, protocol.Stopped},
		{"given up", machine.Unit{Active: "failed", Result: "exit-code"}, answers{}, token, protocol.FailedState},
		{"between restarts", machine.Unit{Active: "activating", Sub: "auto-restart"}, answers{}, token, protocol.FailedState},
		{"being started", machine.Unit{Active: "activating", Sub: "start"}, answers{}, token, protocol.Starting},
		{"being started after a crash", machine.Unit{Active: "activating", Sub: "start", Restart: 1}, answers{}, token, protocol.Starting},
		{"being started after too many restarts", machine.Unit{Active: "activating", Sub: "start", Restart: MaxRestarts}, answers{}, token, protocol.FailedState},
		{"early in the boot", machine.Unit{Active: "inactive", Queued: true}, answers{}, token, protocol.Starting},
		{"does not listen", active, answers{}, token, protocol.FailedState},
		{"broken", active, answers{health: 500}, token, protocol.FailedState},
		{"MCP endpoint broken", active, answers{401, 500, ""}, token, protocol.FailedState},
		{"not MCP", active, answers{200, 200, "<html>"}, token, protocol.FailedState},
		{"another token", active, answers{401, 200, initialized}, strings.Replace(token, "0", "1", 1), protocol.FailedState},
		{"no token", active, answers{401, 200, initialized}, "", protocol.FailedState},
		{"empty token", active, answers{401, 200, initialized}, "EXECUTOR_AUTH_TOKEN=\n", protocol.FailedState},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := Env{Tree: durable.Tree{Root: t.TempDir()}, Machine: machine.New()}
			put(t, env, layout.Ports, "EXECUTOR_PORT="+tt.says.listen(t)+"\nDASHBOARD_PORT=9119\n")
			if tt.token != "" {
				put(t, env, layout.ExecutorToken, tt.token)
			}
			if state, detail := (Executor{}).Health(t.Context(), env, tt.unit); state != tt.want {
				t.Errorf("%s: %s", state, detail)
			}
		})
	}
}
