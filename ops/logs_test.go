package ops

import (
	"bufio"
	"bytes"
	"context"
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
	b := &Box{Host: &Host{Dir: dir}, Home: store.At(dir), Config: &config.Config{Name: "main"}}
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

// The last lines of a file are found whatever its size.
func TestLastLinesOfALargeLog(t *testing.T) {
	b := logBox(t)
	long := strings.Repeat("x", 1<<20-7)
	var text strings.Builder
	for i := range 12 {
		fmt.Fprintf(&text, "%d %s\n", i, long)
	}
	put(t, filepath.Join(b.Home.Logs("main"), "1-create.ndjson"), text.String())
	for _, lines := range []int{1, 3, 11, 12, 100} {
		var out bytes.Buffer
		if err := b.Logs(t.Context(), "operations", lines, false, &out); err != nil {
			t.Fatal(err)
		}
		first := max(12-lines, 0)
		if want := text.String()[strings.Index(text.String(), fmt.Sprintf("%d x", first)):]; out.String() != want {
			t.Errorf("%d lines: %d bytes, want %d", lines, out.Len(), len(want))
		}
	}
}

// Old logs of operations are removed. The newest ones and all other files stay.
func TestOldOperationLogsArePruned(t *testing.T) {
	b := logBox(t)
	dir := b.Home.Logs("main")
	for i := range keptLogs + 5 {
		put(t, filepath.Join(dir, fmt.Sprintf("20260101T%06dZ-start.ndjson", i)), "")
	}
	put(t, filepath.Join(dir, "0-notes.txt"), "mine")
	_, done := b.logged("stop", nil)
	done()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != keptLogs+1 || entries[0].Name() != "0-notes.txt" || entries[1].Name() != "20260101T000006Z-start.ndjson" {
		t.Errorf("%d files, %v", len(entries), err)
	}
}

// Following a log continues when the file grows, is truncated or is replaced, and when the next operation begins a new
// file.
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

// Large logs of operations are removed even if they are few. The newest always stays.
func TestLargeOperationLogsArePruned(t *testing.T) {
	dir := logBox(t).Home.Logs("main")
	for i := range 4 {
		path := filepath.Join(dir, fmt.Sprintf("20260101T00000%dZ-start.ndjson", i))
		put(t, path, "")
		if err := os.Truncate(path, keptLogBytes/2); err != nil {
			t.Fatal(err)
		}
	}
	pruneLogs(dir, keptLogs)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 || entries[0].Name() != "20260101T000002Z-start.ndjson" {
		t.Errorf("%v: %d logs are left, the oldest %s", err, len(entries), entries[0].Name())
	}
	put(t, filepath.Join(dir, "20260101T000009Z-start.ndjson"), "")
	if err := os.Truncate(filepath.Join(dir, "20260101T000009Z-start.ndjson"), 2*keptLogBytes); err != nil {
		t.Fatal(err)
	}
	pruneLogs(dir, keptLogs)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v: %d logs are left, want 1", err, len(entries))
	}
}
