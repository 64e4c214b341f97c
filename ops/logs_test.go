package ops

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

func logBox(t *testing.T) *Box {
	t.Helper()
	dir := t.TempDir()
	b := &Box{Host: &Host{Dir: dir}, Home: store.Look(dir), Config: &config.Config{Name: "main"}}
	if err := os.MkdirAll(b.Home.Logs("main"), 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLogsShowsTheLastLines(t *testing.T) {
	b := logBox(t)
	var out bytes.Buffer
	if err := b.Logs(t.Context(), "operations", 5, false, &out); fault.CodeOf(err) != fault.NotFound || fault.HintOf(err) == "" {
		t.Errorf("no operation yet: %v", err)
	}
	for _, c := range []struct {
		text  string
		lines int
		want  string
	}{
		{"", 2, ""},
		{"a\n", 2, "a\n"},
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc", 2, "b\nc"},
		{"a\n\nc\n", 2, "\nc\n"},
		{"a\nb\n", 200, "a\nb\n"},
	} {
		put(t, filepath.Join(b.Home.Logs("main"), "1-create.ndjson"), "old\n")
		put(t, filepath.Join(b.Home.Logs("main"), "2-start.ndjson"), c.text)
		out.Reset()
		if err := b.Logs(t.Context(), "operations", c.lines, false, &out); err != nil || out.String() != c.want {
			t.Errorf("%d lines of %q: %q, %v", c.lines, c.text, out.String(), err)
		}
	}
}

// A log that is followed goes on through what happens to log files: more lines, begun anew, moved aside, the next one.
func TestLogsFollow(t *testing.T) {
	b := logBox(t)
	first, second := filepath.Join(b.Home.Logs("main"), "1-create.ndjson"), filepath.Join(b.Home.Logs("main"), "2-start.ndjson")
	put(t, first, "a long first line\nlast\n")
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := b.Logs(ctx, "operations", 1, true, w)
		w.CloseWithError(io.EOF)
		ended <- err
	}()
	lines := bufio.NewScanner(r)
	expect := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
	}
	appendTo := func(path, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	expect("last")
	appendTo(first, "more\n")
	expect("more")
	put(t, first, "anew\n") // shorter than before
	expect("anew")
	if err := errors.Join(os.Rename(first, filepath.Join(b.Dir, "aside")), os.WriteFile(first, []byte("in its place\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	expect("in its place")
	appendTo(second, "the next operation\n")
	expect("the next operation")
	for i := range 3 {
		appendTo(second, fmt.Sprintln(i))
		expect(fmt.Sprint(i))
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The logs of operations do not grow without end: the newest are kept, and nothing that has another name is touched.
func TestLogsOfOperationsArePruned(t *testing.T) {
	b := logBox(t)
	dir := b.Home.Logs("main")
	for i := range operationLogs + 20 {
		put(t, filepath.Join(dir, fmt.Sprintf("20260101T%06dZ-start.ndjson", i)), "x")
	}
	put(t, filepath.Join(dir, "0-notes.txt"), "mine")
	_, done := b.logged("stop", nil)
	done()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != operationLogs+1 || entries[0].Name() != "0-notes.txt" || entries[1].Name() != "20260101T000021Z-start.ndjson" {
		t.Errorf("%v: %d are left, the oldest %s", err, len(entries), entries[1].Name())
	}
	big := filepath.Join(dir, "20260102T000000Z-start.ndjson")
	put(t, big, "")
	if err := os.Truncate(big, operationLogBytes+1); err != nil {
		t.Fatal(err)
	}
	pruneLogs(dir)
	entries, _ = os.ReadDir(dir)
	if len(entries) != 2 { // the newest one, of now, and what is not ours
		t.Errorf("%d are left", len(entries))
	}
}

// A log that is too long to be shown whole says what is left out, in a line of its own kind, and begins with a whole line.
func TestLongLogSaysThatItIsCut(t *testing.T) {
	b := logBox(t)
	line := `{"event":"log","line":"` + strings.Repeat("x", 1000) + `"}` + "\n"
	put(t, filepath.Join(b.Home.Logs("main"), "2-start.ndjson"), strings.Repeat(line, logTail/len(line)+100))
	var out bytes.Buffer
	if err := b.Logs(t.Context(), "operations", 1<<20, false, &out); err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(out.String(), "\n")
	var e Event
	if err := json.Unmarshal([]byte(first), &e); err != nil || e.Kind != Warning || !strings.Contains(e.Line, "are not shown") || !strings.Contains(e.Line, "2-start.ndjson") {
		t.Errorf("%v: it begins %.80q", err, first)
	}
	if !strings.HasPrefix(rest, line) {
		t.Errorf("the second line is %.80q", rest)
	}
	out.Reset()
	if err := b.Logs(t.Context(), "operations", 10, false, &out); err != nil || out.String() != strings.Repeat(line, 10) {
		t.Errorf("ten lines: %v, %d bytes", err, out.Len())
	}
}
