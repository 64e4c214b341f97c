package guest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// executor is Executor's image, loaded into podman from an OCI layout without any pull. The release is the
// record of it: the image itself is podman's.
type executor struct{}

func (executor) name() string { return "executor" }
func (executor) unit() string { return executorUnit }

func (executor) commands() map[string]string { return nil }

var secrets = stateDir{path: secretsDir, mode: 0o700}

// The data directory holds the token in clear (server-control/server.json): root alone may enter.
func (executor) stateDirs() []stateDir {
	return []stateDir{{path: executorDir, mode: 0o700}, secrets}
}

// prepare makes the token that guards Executor, once.
func (executor) prepare(_ context.Context, g *Guest) error {
	token := make([]byte, 32)
	rand.Read(token)
	return g.seed(secrets, path.Base(tokenFile), []byte("EXECUTOR_AUTH_TOKEN="+hex.EncodeToString(token)+"\n"), 0o600)
}

// ExecutorPrestart makes the way free for a start: a server that was killed leaves two files that name its pid,
// which in a container is always alive, and the next one refuses. executor.service calls it before every start,
// when no container runs.
func (g *Guest) ExecutorPrestart(_ context.Context) error {
	root, err := os.OpenRoot(g.Path(executorDir))
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

func (executor) health(ctx context.Context, g *Guest, unit machine.Unit) (string, string) {
	if unit.Active != "active" {
		return serviceState(unit)
	}
	ports, err := g.ports()
	if err != nil {
		return protocol.FailedState, "its port is not recorded"
	}
	base := fmt.Sprintf("http://127.0.0.1:%d", ports.Executor)
	status, _, err := g.Machine.Get(ctx, base+"/api/health", nil)
	if err != nil {
		return protocol.FailedState, "it does not answer: " + err.Error()
	}
	if status != 200 && status != 401 {
		return protocol.FailedState, fmt.Sprintf("it answers %d", status)
	}
	token, err := g.executorToken()
	if errors.Is(err, fs.ErrPermission) {
		return protocol.Healthy, "" // it answers; only root can ask it more
	}
	if err != nil {
		return protocol.FailedState, "its token cannot be read: " + err.Error()
	}
	return initializeMCP(ctx, g, base+"/mcp", token)
}

// initializeMCP begins a session of the Model Context Protocol, as every client does.
func initializeMCP(ctx context.Context, g *Guest, url, token string) (string, string) {
	status, answer, err := g.Machine.Post(ctx, url, map[string]string{
		"Authorization": "Bearer " + token,
		"Content-Type":  "application/json",
		"Accept":        "application/json, text/event-stream",
	}, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},`+
		`"clientInfo":{"name":"hermes-box","version":"1"}}}`))
	switch {
	case err != nil:
		return protocol.FailedState, "its MCP endpoint does not answer: " + err.Error()
	case status != 200:
		return protocol.FailedState, fmt.Sprintf("its MCP endpoint answers %d", status)
	case !strings.Contains(string(answer), `"serverInfo"`):
		return protocol.FailedState, "its MCP endpoint does not speak MCP"
	}
	return protocol.Healthy, ""
}

func (g *Guest) executorToken() (string, error) {
	text, err := os.ReadFile(g.Path(tokenFile))
	if err != nil {
		return "", err
	}
	token, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "EXECUTOR_AUTH_TOKEN=")
	if !ok || len(token) < 32 {
		return "", fmt.Errorf("%s holds no token", tokenFile)
	}
	return token, nil
}
