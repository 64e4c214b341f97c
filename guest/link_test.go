package guest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes-box/guest/protocol"
	"hermes-box/internal/rehearsal/simulate"
)

// linkable returns a running box of generation 1 with a stand-in for Hermes, which reads the token and the
// configuration from its own files, as the real one does. The tools of Executor are the lines of the file "tools".
// Without that file, Hermes does not reach Executor.
func linkable(t *testing.T) *box {
	t.Helper()
	b := newFirst(t)
	b.write("opt/hermes-box/current/hermes/bin/hermes", hermesFixture)
	b.write("tools", "execute\nresume\n")
	b.write("data/home/agent/.hermes/.env", oldEnv)
	b.write("data/home/agent/.hermes/config.yaml", oldConfig)
	must(t, os.Chmod(b.Path("/data/home/agent/.hermes/.env"), 0o640))
	return b
}

const hermesFixture = `#!/bin/sh
test "$1 $2 $3" = "mcp test executor" || exit 2
token=$(sed -n 's/^MCP_EXECUTOR_API_KEY=//p' "$HERMES_HOME/.env")
echo "  Testing 'executor'..."
echo "    Authorization: Bearer $token"
grep -q 'Authorization: Bearer ${MCP_EXECUTOR_API_KEY}' "$HERMES_HOME/config.yaml" || { echo "  ✗ Server 'executor' not found in config."; exit; }
test -f "$HOME/../../../tools" || { echo "  ✗ Connection failed (1ms): no route with $token"; exit; }
printf '  ✓ Connected (1ms)\n  ✓ Tools discovered: 2\n\n'
sed 's/^/    /; s/$/    does something/' "$HOME/../../../tools"
`

const (
	linkToken = "a-token.of~Executor_1234+/=="
	oldEnv    = "# mine\nOPENAI_API_KEY=sk-1\n"
	oldConfig = "model: x # good\nmcp_servers:\n  files: {command: fs}\n"
)

var tools = []string{"execute", "resume"}

func (b *box) hermesFile(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.Path("/data/home/agent/.hermes", name))
	if errors.Is(err, os.ErrNotExist) {
		return "(none)"
	}
	must(b.t, err)
	return string(text)
}

func (b *box) link(ctx context.Context) (protocol.ExecutorLinked, error) {
	return b.Login().LinkExecutor(ctx, protocol.ExecutorLink{Token: linkToken, Tools: tools})
}

// owners records the owner that each file gets.
type owners struct {
	*simulate.Machine
	given []string
}

func (o *owners) Chown(path string, uid, gid int) error {
	o.given = append(o.given, fmt.Sprintf("%s %d:%d", filepath.Base(path), uid, gid))
	return o.Machine.Chown(path, uid, gid)
}

func TestLinkExecutor(t *testing.T) {
	b := linkable(t)
	o := &owners{Machine: b.sys}
	b.Machine = o
	done, err := b.link(t.Context())
	if err != nil || done.Already || !slices.Equal(done.Tools, tools) {
		t.Fatalf("%+v, %v", done, err)
	}
	if env := b.hermesFile(".env"); env != oldEnv+"MCP_EXECUTOR_API_KEY="+linkToken+"\n" {
		t.Errorf(".env: %q", env)
	}
	if info, err := os.Lstat(b.Path("/data/home/agent/.hermes/.env")); err != nil || info.Mode() != 0o600 {
		t.Errorf(".env: %v, %v", info.Mode(), err)
	}
	config := b.hermesFile("config.yaml")
	if !strings.HasPrefix(config, oldConfig+"  executor:\n    url: http://127.0.0.1:4788/mcp\n") || strings.Contains(config, linkToken) {
		t.Errorf("config.yaml: %s", config)
	}
	if !slices.Equal(o.given, []string{".env.new 1000:1000", "config.yaml.new 1000:1000"}) {
		t.Errorf("given to %v", o.given)
	}
	if !slices.Contains(b.sys.Did(), "restart hermes.service") {
		t.Error("hermes was not restarted")
	}
	for _, e := range b.events {
		if strings.Contains(e.Line, linkToken) {
			t.Errorf("an event contains the token: %+v", e)
		}
	}

	// Link again, in another process: this asks Hermes, but changes nothing.
	b = openBox(t, b.Root)
	done, err = b.link(t.Context())
	if err != nil || !done.Already || !slices.Equal(b.sys.Did(), []string{"run hermes"}) {
		t.Errorf("again: %+v, %v; did %v", done, err, b.sys.Did())
	}
	// After an edit by the user, Hermes is restarted, because it reads the file only when it starts. The edit stays.
	b.write("data/home/agent/.hermes/config.yaml", config+"# mine\n")
	if done, err = b.link(t.Context()); err != nil || done.Already || b.hermesFile("config.yaml") != config+"# mine\n" {
		t.Errorf("after an edit: %+v, %v\n%s", done, err, b.hermesFile("config.yaml"))
	}
}

func TestLinkExecutorRestoresFilesOnFailure(t *testing.T) {
	for name, c := range map[string]struct {
		spoil      func(*testing.T, *box)
		code, want string
	}{
		"a new tool": {func(_ *testing.T, b *box) { b.write("tools", "execute\nformat_disk\nresume\n") },
			"integrity_failed", `the tool "format_disk", which was not reviewed`},
		"a missing tool": {func(_ *testing.T, b *box) { b.write("tools", "execute\n") }, "health_failed", `no tool "resume"`},
		"no executor": {func(t *testing.T, b *box) { must(t, os.Remove(b.Path("tools"))) },
			"health_failed", "hermes does not reach executor: Connection failed (1ms): no route with ..."},
		"hermes fails": {func(_ *testing.T, b *box) {
			b.write("opt/hermes-box/current/hermes/bin/hermes", "#!/bin/sh\ncat \"$HERMES_HOME/.env\"\nexit 3\n")
		}, "external_failed", "exit status 3"},
		"no restart": {func(_ *testing.T, b *box) {
			first := true
			b.sys.Fail = func(effect string) error {
				if effect == "restart hermes.service" && first {
					first = false
					return errors.New("the job failed")
				}
				return nil
			}
		}, "external_failed", "the job failed"},
		"no files before": {func(t *testing.T, b *box) {
			b.write("tools", "execute\n")
			must(t, errors.Join(os.Remove(b.Path("/data/home/agent/.hermes/.env")), os.Remove(b.Path("/data/home/agent/.hermes/config.yaml"))))
		}, "health_failed", `no tool "resume"`},
	} {
		t.Run(name, func(t *testing.T) {
			b := linkable(t)
			c.spoil(t, b)
			env, config := b.hermesFile(".env"), b.hermesFile("config.yaml")
			n := len(b.sys.Did())
			_, err := b.link(t.Context())
			var e *protocol.Error
			if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Message, c.want) {
				t.Errorf("%v", err)
			}
			if all, _ := json.Marshal(e); strings.Contains(string(all), linkToken) {
				t.Errorf("the error contains the token: %s", all)
			}
			if b.hermesFile(".env") != env || b.hermesFile("config.yaml") != config {
				t.Errorf("not put back: %q %q", b.hermesFile(".env"), b.hermesFile("config.yaml"))
			}
			if info, err := os.Lstat(b.Path("/data/home/agent/.hermes/.env")); err == nil && info.Mode() != 0o640 {
				t.Errorf(".env has mode %v", info.Mode())
			}
			restarts := 0
			for _, did := range b.sys.Did()[n:] {
				if did == "restart hermes.service" {
					restarts++
				}
			}
			if restarts != 2 {
				t.Errorf("%d restarts, want one with the token and one without", restarts)
			}
		})
	}
}

func TestLinkExecutorInterrupted(t *testing.T) {
	b := linkable(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.After = func(step string) {
		if step == "restart hermes.service" {
			cancel()
		}
	}
	if _, err := b.link(ctx); err == nil || ctx.Err() == nil {
		t.Fatalf("%v", err)
	}
	if b.hermesFile(".env") != oldEnv || b.hermesFile("config.yaml") != oldConfig {
		t.Errorf("not put back: %q %q", b.hermesFile(".env"), b.hermesFile("config.yaml"))
	}
}

func TestLinkExecutorRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*testing.T, *box)
		ask   protocol.ExecutorLink
		want  string
	}{
		"no token":   {ask: protocol.ExecutorLink{Tools: tools}, want: "no valid token"},
		"two lines":  {ask: protocol.ExecutorLink{Token: "abc\nEVIL=1", Tools: tools}, want: "no valid token"},
		"no tools":   {ask: protocol.ExecutorLink{Token: linkToken}, want: "no valid token"},
		"a symlink":  {spoil: func(t *testing.T, b *box) { must(t, relink(b.Path("/data/home/agent/.hermes/.env"), "/etc/passwd")) }, want: "not a regular file"},
		"bad config": {spoil: func(_ *testing.T, b *box) { b.write("data/home/agent/.hermes/config.yaml", "a: [") }, want: "config.yaml: yaml"},
		"no hermes": {spoil: func(t *testing.T, b *box) { must(t, os.Remove(b.Path("/var/lib/hermes-box/applied.json"))) },
			want: "hermes is not installed"},
	} {
		b := linkable(t)
		if c.spoil != nil {
			c.spoil(t, b)
			c.ask = protocol.ExecutorLink{Token: linkToken, Tools: tools}
		}
		config := b.hermesFile("config.yaml")
		n := len(b.sys.Did())
		if _, err := b.Login().LinkExecutor(t.Context(), c.ask); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if len(b.sys.Did()) != n || b.hermesFile("config.yaml") != config {
			t.Errorf("%s: a refused request had effects: %v", name, b.sys.Did()[n:])
		}
	}
}

func relink(path, target string) error { return errors.Join(os.Remove(path), os.Symlink(target, path)) }

// A kill at any durable step loses nothing that the user wrote, and the next run succeeds.
func TestKilledAnywhereInLink(t *testing.T) {
	b := linkable(t)
	copies := b.killedAnywhere(t, func() {
		_, err := b.link(t.Context())
		must(t, err)
	})
	if len(copies) != 3 {
		t.Fatalf("%d durable steps, want 3: two files and a restart", len(copies))
	}
	for _, k := range copies {
		if !strings.HasPrefix(k.hermesFile(".env"), oldEnv) || !strings.HasPrefix(k.hermesFile("config.yaml"), oldConfig) {
			t.Errorf("killed after %s: %q %q", k.step, k.hermesFile(".env"), k.hermesFile("config.yaml"))
		}
		k.t = t
		if _, err := k.link(t.Context()); err != nil {
			t.Errorf("killed after %s: %v", k.step, err)
		}
		if k.hermesFile(".env") != b.hermesFile(".env") || k.hermesFile("config.yaml") != b.hermesFile("config.yaml") {
			t.Errorf("killed after %s: %q %q", k.step, k.hermesFile(".env"), k.hermesFile("config.yaml"))
		}
	}
}
