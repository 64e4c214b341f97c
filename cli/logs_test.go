package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
	"hermes-box/ops"
)

func TestLogsAreForPeople(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := rehearsal.Inject(m.lima(), rehearsal.CreateFails); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.run("create", "--quiet", "--mirror", filepath.Join(m.dir, "mirror")); err == nil {
		t.Fatal("create succeeded without a VM")
	}
	out, _, err := m.run("logs")
	for _, want := range []string{"create   preflight  ✓ done in ", "create   vm         ✗ failed after ", "create   disk       ↩ undone", "steps: preflight key claim "} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: no %q in\n%s", err, want, out)
		}
	}
	if strings.Contains(out, `{"`) {
		t.Errorf("JSON in\n%s", out)
	}
	out, _, err = m.run("logs", "operations", "--json", "-n", "1")
	var e ops.Event
	if err != nil || json.Unmarshal([]byte(out), &e) != nil || e.Kind != ops.Finished || e.Error == "" {
		t.Errorf("%v: the last event is %s", err, out)
	}
	out, _, err = m.run("logs", "commands")
	if err != nil || !strings.Contains(out, "limactl create --") || strings.Contains(out, `{"`) {
		t.Errorf("%v\n%s", err, out)
	}
	out, _, err = m.run("logs", "commands", "--json", "-n", "3")
	if err != nil || strings.Count(out, "\n") != 3 || !strings.HasPrefix(out, `{"time":`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// ctrl-c ends logs -f without a message.
func TestFollowEndsQuietly(t *testing.T) {
	m := newMachine(t)
	m.write("home/logs/main/20260101T000000Z-create.ndjson", []byte(`{"time":"2026-01-01T00:00:00Z","event":"log","operation":"create","box":"main","step":"boot","line":"hello"}`+"\n"))
	c := m.cmd("", "logs", "-f")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasSuffix(lines.Text(), "create   boot       hello") {
		t.Errorf("%q", lines.Text())
	}
	c.Process.Signal(os.Interrupt)
	for lines.Scan() {
		t.Errorf("more: %q", lines.Text())
	}
	c.Wait()
	if c.ProcessState.ExitCode() != exitInterrupted || stderr.Len() != 0 {
		t.Errorf("%v, %q", c.ProcessState, stderr.String())
	}
}

func TestLineWriterJoinsPartsOfALine(t *testing.T) {
	var out bytes.Buffer
	w := &lineWriter{out: &out, render: func(line []byte) string { return "<" + string(line) + ">" }}
	for _, part := range []string{"a", "b\nc", "", "\n\nd"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Error(n, err)
		}
	}
	if err := w.flush(); err != nil || out.String() != "<ab>\n<c>\n<>\n<d>\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// logs removes escape sequences from the console of the VM and from the log of commands, even if its output is a pipe.
// --raw keeps them.
// testdata/script/demo.txtar checks the log of a service in the same way.
func TestLogsAreSanitized(t *testing.T) {
	t.Parallel()
	m := newBootedMachine(t)
	const says = "\n\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07a\x00b\u009b31m\r\n\x1b[2Jc\u202e\n"
	appendTo(t, filepath.Join(m.lima(), "main", "serial.log"), says)
	m.write("home/logs/commands.ndjson", []byte(`{"time":"2026-01-01T00:00:00Z","command":"ssh \u009b31m`+"\u009b\u202e"+`x"}`+"\n"))
	for _, args := range [][]string{{"boot"}, {"commands"}, {"commands", "--json"}} {
		out, stderr, err := m.run(append([]string{"logs"}, args...)...)
		if err != nil {
			t.Errorf("logs %v: %v, %s", args, err, stderr)
		}
		if strings.ContainsAny(out, "\x00\x1b\a\r\u009b\u202e") {
			t.Errorf("logs %v: %q", args, out)
		}
	}
	if out, _, err := m.run("logs", "boot", "-n", "2"); err != nil || out != "ab31m\nc\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, _, err := m.run("logs", "boot", "-n", "2", "--raw"); err != nil || out != says[1:] {
		t.Errorf("raw: %q, %v", out, err)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRenderedLines(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	line := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, c := range []struct{ got, want string }{
		{eventText(style{}, []byte("not JSON")), "not JSON"},
		{eventText(style{}, line(ops.Event{Time: at, Kind: ops.Phase, Operation: "create", Step: "install", Component: "node", Phase: "stage", State: "done"})),
			"2026-01-02 03:04:05  create   install    node stage: done"},
		{eventText(style{}, line(ops.Event{Time: at, Kind: ops.Finished, Operation: "stop", Seconds: 75, Error: "one\ntwo"})),
			"2026-01-02 03:04:05  stop                ✗ failed after 1m15s: one\n          two"},
		{eventText(style{}, line(ops.Event{Time: at, Kind: ops.Log, Operation: "create", Step: "boot", Line: "\x1b]0;title\x07\u009b31mé\ttab"})),
			"2026-01-02 03:04:05  create   boot       31mé\ttab"},
		{commandText(style{}, line(ops.LoggedCommand{Time: at, Command: "/usr/bin/limactl list --json", Seconds: 0.25})),
			"2026-01-02 03:04:05  ✓   0.2s  limactl list --json"},
		{commandText(style{}, line(ops.LoggedCommand{Time: at, Command: "limactl stop main", Status: 1, Error: "exit status 1", Stderr: "a\nb\n"})),
			"2026-01-02 03:04:05  ✗   0.0s  limactl stop main\n          exit status 1\n          a\n          b"},
	} {
		if c.got != c.want {
			t.Errorf("got\n%s\nwant\n%s", c.got, c.want)
		}
	}
}

// logs prints a note if the log is empty. An operation on a full disk leaves such a log.
func TestAnEmptyLogIsReported(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeStoppedBox()
	m.write("home/logs/main/1-create.ndjson", nil)
	if out, stderr, err := m.run("logs", "operations", "-n", "1"); err != nil || out != "" || stderr != "the log is empty\n" {
		t.Errorf("%v %q %q", err, out, stderr)
	}
}
