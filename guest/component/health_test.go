package component

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

func put(t *testing.T, env Env, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(env.Path(path)), 0o755), os.WriteFile(env.Path(path), []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
}

func TestHermesHealth(t *testing.T) {
	running := map[string]string{"gateway_state.json": `{"gateway_state":"running"}`}
	with := func(name, text string) map[string]string {
		return map[string]string{"gateway_state.json": `{"gateway_state":"running"}`, name: text}
	}
	active := machine.Unit{Active: "active", Since: time.Now().Add(-time.Minute)}
	for _, tt := range []struct {
		name  string
		unit  machine.Unit
		files map[string]string
		want  string
	}{
		{"new", active, running, protocol.SetupRequired},
		{"empty env", active, with(".env", "# OPENAI_API_KEY=x\nOPENAI_API_KEY=\n"), protocol.SetupRequired},
		{"empty auth", active, with("auth.json", "{}"), protocol.SetupRequired},
		{"other config", active, with("config.yaml", "agent:\n  model: x\n"), protocol.SetupRequired},
		{"API key", active, with(".env", "A=b\nexport OPENAI_API_KEY=\"x\"\n"), protocol.Healthy},
		{"login", active, with("auth.json", `{"providers":{"nous":{}}}`), protocol.Healthy},
		{"logged out", active, with("auth.json", `{"version":2,"providers":{},"credential_pool":{}}`), protocol.SetupRequired},
		{"only the key of an MCP server", active, with(".env", "MCP_EXECUTOR_API_KEY=x\n"), protocol.SetupRequired},
		{"model", active, with("config.yaml", "model:\n  default: x\n"), protocol.Healthy},
		{"stopped", machine.Unit{Active: "inactive"}, running, protocol.Stopped},
		{"failed", machine.Unit{Active: "failed"}, running, protocol.FailedState},
		{"no state file", active, nil, protocol.FailedState},
		{"state of an earlier start", machine.Unit{Active: "active", Since: time.Now().Add(time.Hour)}, running, protocol.FailedState},
		{"starting", active, map[string]string{"gateway_state.json": `{"gateway_state":"starting"}`}, protocol.FailedState},
		{"incomplete state file", active, map[string]string{"gateway_state.json": `{"gatew`}, protocol.FailedState},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := Env{Tree: durable.Tree{Root: t.TempDir()}}
			put(t, env, layout.Current+"/hermes/bin/hermes", "#!/bin/sh\n")
			for name, text := range tt.files {
				put(t, env, hermesHome.Path+"/"+name, text)
			}
			if state, detail := (Hermes{}).Health(context.Background(), env, tt.unit); state != tt.want {
				t.Errorf("%s: %s", state, detail)
			}
		})
	}
}

func TestLoggedIn(t *testing.T) {
	env := Env{Tree: durable.Tree{Root: t.TempDir()}}
	look := func() (string, string) {
		a, _ := Claude{}.Health(context.Background(), env, machine.Unit{})
		b, _ := Codex{}.Health(context.Background(), env, machine.Unit{})
		return a, b
	}
	if a, b := look(); a != protocol.FailedState || b != protocol.FailedState {
		t.Errorf("without any files: %s, %s", a, b)
	}
	put(t, env, layout.Current+"/claude/bin/claude", "")
	put(t, env, layout.Current+"/codex/bin/codex", "")
	if a, b := look(); a != protocol.SetupRequired || b != protocol.SetupRequired {
		t.Errorf("nobody logged in: %s, %s", a, b)
	}
	put(t, env, layout.ClaudeHome+"/.credentials.json", "{...}")
	put(t, env, layout.CodexHome+"/auth.json", "{...}")
	if a, b := look(); a != protocol.Healthy || b != protocol.Healthy {
		t.Errorf("logged in: %s, %s", a, b)
	}
}

// Executor does not start while two files of a killed server exist. ExecutorPrestart removes them and nothing else.
func TestExecutorPrestart(t *testing.T) {
	env := Env{Tree: durable.Tree{Root: t.TempDir()}}
	if err := ExecutorPrestart(env.Tree); err != nil {
		t.Errorf("before the directory exists: %v", err)
	}
	for _, name := range []string{"server-control/server.json", "server-control/startup.lock", "server-control/other", "data.db"} {
		put(t, env, layout.ExecutorData+"/"+name, "x")
	}
	for range 2 {
		if err := ExecutorPrestart(env.Tree); err != nil {
			t.Error(err)
		}
	}
	left, _ := filepath.Glob(env.Path(layout.ExecutorData, "server-control/*"))
	if len(left) != 1 || filepath.Base(left[0]) != "other" {
		t.Errorf("left: %v", left)
	}
	// A symlink out of the directory is not followed.
	put(t, env, "/elsewhere/startup.lock", "x")
	if err := errors.Join(os.RemoveAll(env.Path(layout.ExecutorData, "server-control")), os.Symlink("../../elsewhere", env.Path(layout.ExecutorData, "server-control"))); err != nil {
		t.Fatal(err)
	}
	if err := ExecutorPrestart(env.Tree); err == nil {
		t.Error("no error for a directory that is a symlink to the outside")
	}
	if _, err := os.Stat(env.Path("/elsewhere/startup.lock")); err != nil {
		t.Error(err)
	}
}
