package simulate

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-box/guest/machine"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The real client of the Model Context Protocol works with the stand-in of Executor.
func TestExecutorSpeaksMCP(t *testing.T) {
	root := t.TempDir()
	s := Open(root)
	write(t, filepath.Join(root, "var/lib/hermes-box/ports.env"), "EXECUTOR_PORT=4788\nDASHBOARD_PORT=9119\n")
	write(t, filepath.Join(root, "data/secrets/executor-token.env"), "EXECUTOR_AUTH_TOKEN=abc\n")
	if open := s.Listening(); len(open) != 0 {
		t.Errorf("a machine without running units listens on %v", open)
	}
	write(t, filepath.Join(root, "opt/hermes-box/current/executor/executor.env"), "")
	if err := s.StartUnit(t.Context(), "executor.service"); err != nil {
		t.Fatal(err)
	}
	open := s.Listening()
	if len(open) != 1 || open["4788"] == nil {
		t.Fatalf("with executor running, the machine listens on %v", open)
	}
	server := httptest.NewServer(open["4788"])
	defer server.Close()
	if resp, err := http.Get(server.URL + "/api/health"); err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %v, %v", resp, err)
	}
	for _, tools := range [][]string{nil, {"execute", "resume", "shell"}} {
		s.Tools = tools
		if tools == nil {
			tools = []string{"execute", "resume"}
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: server.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer{}}, DisableStandaloneSSE: true,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if fmt.Sprint(names) != fmt.Sprint(tools) {
			t.Errorf("tools %v, want %v", names, tools)
		}
		session.Close()
	}
}

type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer abc")
	return http.DefaultTransport.RoundTrip(r)
}

// A unit that crashes and a oneshot unit whose function fails are in the state failed, and the journal reports it.
func TestUnitsAndTheirJournal(t *testing.T) {
	root := t.TempDir()
	s := Open(root)
	write(t, filepath.Join(root, "opt/hermes-box/current/executor/executor.env"), "")
	s.Crashes = func(unit string) bool { return unit == "executor.service" }
	runs := 0
	s.Oneshot = map[string]func(context.Context) error{"once.service": func(context.Context) error {
		if runs++; runs == 1 {
			return fmt.Errorf("no disk")
		}
		return nil
	}}
	if err := s.StartUnit(t.Context(), "executor.service"); err != nil {
		t.Fatal(err)
	}
	if err := s.StartUnit(t.Context(), "once.service"); err == nil {
		t.Error("no error from a oneshot unit that failed")
	}
	units, err := s.Units(t.Context(), "executor.service", "once.service")
	if err != nil || units["executor.service"].Active != "failed" || units["once.service"].Active != "failed" {
		t.Errorf("%+v, %v", units, err)
	}
	for range 2 { // the second time it has run already
		if err := s.StartUnit(t.Context(), "once.service"); err != nil {
			t.Fatal(err)
		}
	}
	if runs != 2 {
		t.Errorf("the oneshot unit ran %d times", runs)
	}
	var out bytes.Buffer
	if _, err := s.Run(t.Context(), machine.Cmd{Path: "journalctl", Args: []string{"--lines", "2", "--unit", "once.service"}, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "once: failed: no disk\n") || !strings.HasSuffix(got, "once: finished\n") {
		t.Errorf("the journal:\n%s", got)
	}
}

// journalctl --follow continues until its context is canceled.
func TestJournalFollows(t *testing.T) {
	root := t.TempDir()
	s := Open(root)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lines := make(chan string, 4)
	done := make(chan error, 1)
	go func() {
		_, err := Open(root).Run(ctx, machine.Cmd{Path: "journalctl", Args: []string{"--follow", "--lines=5", "--unit=x.service"}, Stdout: lineWriter(lines), Timeout: -1})
		done <- err
	}()
	for range 2 {
		if err := s.RestartUnit(ctx, "x.service"); err != nil {
			t.Fatal(err)
		}
		if line := <-lines; !strings.Contains(line, "x: started") {
			t.Errorf("%q", line)
		}
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("journalctl --follow ended by itself")
	}
}

type lineWriter chan<- string

func (w lineWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}
