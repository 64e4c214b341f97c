package component

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// ExecutorPrestart removes two files that a killed server leaves. They hold the pid of that server. In the next
// container a process has the same pid again, so the next server would take the killed one for running and refuse to
// start. executor.service calls ExecutorPrestart before every start, when no container runs.
func ExecutorPrestart(t durable.Tree) error {
	root, err := os.OpenRoot(t.Path(layout.ExecutorData))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range []string{"server-control/server.json", "server-control/startup.lock"} {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// InitializeMCP begins a session of the Model Context Protocol, and returns the component state that the answer shows.
func InitializeMCP(ctx context.Context, m Machine, url, token string) (state, detail string) {
	status, answer, err := m.Post(ctx, url, map[string]string{
		"Authorization": "Bearer " + token,
		"Content-Type":  "application/json",
		"Accept":        "application/json, text/event-stream",
	}, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},`+
		`"clientInfo":{"name":"hermes-box","version":"1"}}}`))
	switch {
	case err != nil:
		return protocol.FailedState, "its MCP endpoint does not answer: " + err.Error()
	case status != 200:
		return protocol.FailedState, fmt.Sprintf("its MCP endpoint answers with HTTP status %d", status)
	case !strings.Contains(string(answer), `"serverInfo"`):
		return protocol.FailedState, "its MCP endpoint gives an answer that is not MCP"
	}
	return protocol.Healthy, ""
}

// ExecutorToken reads the token that Executor asks for. Only root can read it.
func ExecutorToken(t durable.Tree) (string, error) {
	text, err := os.ReadFile(t.Path(layout.ExecutorToken))
	if err != nil {
		return "", err
	}
	token, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "EXECUTOR_AUTH_TOKEN=")
	if !ok || len(token) < 32 {
		return "", fmt.Errorf("%s has no valid token", layout.ExecutorToken)
	}
	return token, nil
}

// ExecutorURL returns the URL of Executor on guest loopback.
func ExecutorURL(t durable.Tree) (string, error) {
	ports, err := Ports(t)
	if err != nil {
		return "", fmt.Errorf("the port of Executor is not known: %w", err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", ports.Executor), nil
}
