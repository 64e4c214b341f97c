package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/ops"
)

func (m *demoBox) setup(token string, args ...string) (stdout, stderr string, status int) {
	m.t.Helper()
	c := m.cmd("", append([]string{"setup", "executor"}, args...)...)
	c.Stdin = strings.NewReader(token)
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

func TestSetupExecutor(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	// The token in the form in which `exec -- sudo cat` prints it.
	out, stderr, status := m.setup("EXECUTOR_AUTH_TOKEN="+m.token+"\n", "--token-stdin", "--json")
	var answer struct {
		OK     bool
		Result ops.ExecutorSetup
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || status != 0 || !answer.OK || answer.Result.Already || strings.Join(answer.Result.Tools, " ") != "execute resume" {
		t.Fatalf("%d %v\n%s%s", status, err, out, stderr)
	}
	if env := m.hermesFile(".env"); env != "MCP_EXECUTOR_API_KEY="+m.token+"\n" {
		t.Errorf(".env: %q", env)
	}
	config := m.hermesFile("config.yaml")
	if !strings.Contains(config, "Bearer ${MCP_EXECUTOR_API_KEY}") || strings.Contains(config, m.token) {
		t.Errorf("config.yaml: %s", config)
	}
	out, stderr, status = m.setup(m.token, "--token-stdin")
	if status != 0 || out != "Hermes already has this token and uses Executor: execute, resume\n" {
		t.Errorf("again: %d\n%s%s", status, out, stderr)
	}
	if out, _, err := m.run("login", "--json", "token"); err != nil || !strings.Contains(out, `"done":true`) {
		t.Errorf("%v %s", err, out)
	}
	m.wantNoSecret(m.token)
}

func TestSetupExecutorRefuses(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	wrong := strings.Repeat("f", 64)
	refused := func(token string, status int, want string) {
		t.Helper()
		out, stderr, got := m.setup(token, "--token-stdin", "--events")
		if got != status || out != "" {
			t.Errorf("%d %s%s", got, out, stderr)
		}
		if _, stderr, _ = m.setup(token, "--token-stdin", "--quiet"); !strings.Contains(stderr, want) {
			t.Errorf("%s", stderr)
		}
		if m.hermesFile(".env") != "" || m.hermesFile("config.yaml") != "" {
			t.Errorf("hermes's .env is %q, its config.yaml %q", m.hermesFile(".env"), m.hermesFile("config.yaml"))
		}
	}
	refused(wrong, 1, "hermes-box: executor does not accept this token\nhint: to see the right one: hermes-box exec -- sudo cat")
	m.wantNoSecret(wrong)
	for _, text := range []string{"\n", m.token + "\n" + m.token, "$(reboot)"} {
		refused(text, 2, "this is not a token")
	}
	inject(t, m.machine, "extra-tool")
	m.must("stop", "--quiet")
	m.must("start", "--quiet")
	refused(m.token, 1, `executor offers the tool "shell", which was not reviewed`)
	m.wantNoSecret(m.token)
}

// wantNoSecret fails if a file of the host's state directory holds the secret. It skips the guest's own files and
// files larger than 16 MiB.
func (m *demoBox) wantNoSecret(secret string) {
	m.t.Helper()
	searched := false
	err := filepath.WalkDir(filepath.Join(m.dir, "home"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "_disks" || d.Name() == "guest") { // the guest's own files
			return filepath.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > 16<<20 { // the disk image of the guest, which is empty
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(data), secret) {
			m.t.Errorf("%s holds the secret", path)
		}
		searched = searched || strings.Contains(string(data), "link-executor") || strings.Contains(string(data), "try the token")
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	if !searched && !strings.ContainsAny(secret, "$\n") {
		m.t.Error("no log mentions the setup: the search did not see the logs")
	}
}
