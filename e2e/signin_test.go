//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
)

// executorToken reads Executor's token from the box.
func (l *lab) executorToken(t *testing.T) string {
	t.Helper()
	_, token, ok := strings.Cut(strings.TrimSpace(l.inBox(t, "sudo", "cat", "/data/secrets/executor-token.env")), "=")
	if !ok || len(token) < 32 {
		t.Fatal("executor has no token")
	}
	return token
}

func mcpEndpoint(t *testing.T, l *lab) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	url, token := strings.TrimSpace(l.must(t, "open", "executor", "--print"))+"mcp", l.executorToken(t)
	tools, err := ops.ExecutorTools(ctx, url, token)
	if err != nil || !slices.Equal(tools, ops.ReviewedTools) {
		t.Errorf("tools: %v, %v", tools, err)
	}
	if _, err := ops.ExecutorTools(ctx, url, "wrong"); err == nil || !strings.Contains(err.Error(), "does not accept this token") {
		t.Errorf("without the right token: %v", err)
	}
	if ps := l.inBox(t, "ps", "axww", "-o", "args"); strings.Contains(ps, token) {
		t.Error("the token is in a command line")
	}
}

func signIn(t *testing.T, l *lab) {
	done := func() map[string]bool {
		t.Helper()
		var answer struct{ Steps []ops.SignIn }
		begun := time.Now()
		l.json(t, &answer, "login")
		t.Logf("asked in %v", time.Since(begun))
		is := map[string]bool{}
		for _, s := range answer.Steps {
			t.Logf("%-9s %-5v %s", s.ID, s.Done, s.Detail)
			is[s.ID] = s.Done
		}
		return is
	}
	if is := done(); len(is) != len(ops.SignInIDs()) || is["claude"] || is["codex"] || is["hermes"] || is["model"] || is["token"] {
		t.Errorf("sign-in steps of a new box: %v", is)
	}
	token := l.executorToken(t)
	if o := l.run(t, strings.Repeat("f", 64), "setup", "executor", "--token-stdin"); o.status != 1 || !strings.Contains(o.stderr, "executor does not accept this token") {
		t.Errorf("a wrong token: %+v", o)
	}
	o := l.run(t, "EXECUTOR_AUTH_TOKEN="+token+"\n", "setup", "executor", "--token-stdin")
	t.Logf("set up in %v\n%s%s", o.took, o.stderr, o.stdout)
	if o.status != 0 || !strings.Contains(o.stdout, "Hermes uses Executor: execute, resume") {
		t.Fatalf("setup: %+v", o)
	}
	if out := l.inBox(t, "stat", "-c", "%a %U", "/home/agent/.hermes/.env"); out != "600 agent\n" {
		t.Errorf(".env: %s", out)
	}
	if out := l.inBox(t, "cat", "/home/agent/.hermes/config.yaml"); strings.Contains(out, token) || !strings.Contains(out, "${MCP_EXECUTOR_API_KEY}") {
		t.Errorf("config.yaml: %s", out)
	}
	if out := l.inBox(t, "hermes", "mcp", "list"); !strings.Contains(out, "executor") || !strings.Contains(out, "2 selected") {
		t.Errorf("hermes lists %s", out)
	}
	if log := l.inBox(t, "cat", "/home/agent/.hermes/logs/agent.log"); !strings.Contains(log, "mcp__executor__execute, mcp__executor__resume") {
		t.Error("the gateway has not registered the tools")
	}
	if is := done(); !is["token"] || is["hermes"] {
		t.Errorf("sign-in steps after setup: %v", is)
	}
	since := l.inBox(t, "systemctl", "show", "-P", "ActiveEnterTimestamp", "hermes.service")
	var again ops.ExecutorSetup
	o = l.run(t, token, "setup", "executor", "--token-stdin", "--json")
	var answer object
	if err := json.Unmarshal([]byte(o.stdout), &answer); err != nil || json.Unmarshal(answer.Result, &again) != nil || !again.Already {
		t.Errorf("a second time: %v %+v", err, o)
	}
	if now := l.inBox(t, "systemctl", "show", "-P", "ActiveEnterTimestamp", "hermes.service"); now != since {
		t.Error("the second setup restarts hermes")
	}
	if ps := l.inBox(t, "ps", "axww", "-o", "args"); strings.Contains(ps, token) {
		t.Error("the token is in a command line")
	}
	// On the host, only the image of the data disk may hold the token. It is in _disks. The test also leaves out the
	// artifacts and all large files.
	_ = filepath.WalkDir(l.home(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir() && (d.Name() == "_disks" || d.Name() == "artifacts"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 16<<20 { // such as the root disk
			return nil
		}
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), token) {
			t.Errorf("%s holds the token", path)
		}
		return nil
	})
}
