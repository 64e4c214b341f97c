package component

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// Executor is a container image, loaded into podman from an OCI layout without any pull. The release directory records
// it; the image itself is in podman's storage.
type Executor struct{}

func (Executor) Name() string { return "executor" }
func (Executor) Unit() string { return layout.ExecutorUnit }

func (Executor) Commands() map[string]string { return nil }

var secrets = durable.Dir{Path: layout.Secrets, Mode: 0o700}

// StateDirs returns directories that only root can access: in the data directory, server-control/server.json has the
// token in clear text.
func (Executor) StateDirs() []durable.Dir {
	return []durable.Dir{{Path: layout.ExecutorData, Mode: 0o700}, secrets}
}

// Prepare makes the token that Executor asks for, unless there is one.
func (Executor) Prepare(_ context.Context, env Env) error {
	token := make([]byte, 32)
	rand.Read(token)
	return env.Seed(secrets, path.Base(layout.ExecutorToken), []byte("EXECUTOR_AUTH_TOKEN="+hex.EncodeToString(token)+"\n"), 0o600, env.Machine)
}

func (Executor) Health(ctx context.Context, env Env, unit machine.Unit) (string, string) {
	if unit.Active != "active" {
		return serviceState(unit)
	}
	base, err := ExecutorURL(env.Tree)
	if err != nil {
		return protocol.FailedState, err.Error()
	}
	status, _, err := env.Machine.Get(ctx, base+"/api/health", nil)
	if err != nil {
		return protocol.FailedState, "it does not answer: " + err.Error()
	}
	if status != 200 && status != 401 {
		return protocol.FailedState, fmt.Sprintf("it answers %d", status)
	}
	token, err := ExecutorToken(env.Tree)
	if errors.Is(err, fs.ErrPermission) {
		return protocol.Healthy, "" // it answers; other requests need the token, which only root can read
	}
	if err != nil {
		return protocol.FailedState, "its token cannot be read: " + err.Error()
	}
	return InitializeMCP(ctx, env.Machine, base+"/mcp", token)
}
