package limactl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
)

// Escape sequences in the output of Lima and of the guest's console are removed from errors and events.
func TestOutputIsSanitized(t *testing.T) {
	const hostile = "\x1b]0;no\x07\x1b[31mno\x1b[0m\u009b2J\u202e\r"
	program := filepath.Join(t.TempDir(), "limactl")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s\\n' '"+hostile+"' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := New(Config{Program: program, Home: t.TempDir()}).run(t.Context(), time.Minute, nil, "list")
	var failed *CommandError
	if !errors.As(err, &failed) {
		t.Fatal(err)
	}
	event, ok := decodeEvent([]byte(`{"time":"2026-01-01T00:00:00Z","status":{"degraded":true,"errors":["\u001b[31mno\u202e"],"cloudInitProgress":{"logLine":"no\u009b"}}}`))
	if !ok {
		t.Fatal("no event")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "serial.log"), []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ha.stderr.log"), []byte(`{"level":"fatal","msg":"\u001b[31mno\r"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{err.Error(), failed.Stderr, event.Line, event.Errors[0], logEvent("msg=\"" + `no\x1b[2J` + "\"").Line, console(dir), lastProblem(filepath.Join(dir, "ha.stderr.log"))} {
		if !strings.Contains(text, "no") || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("%q", text)
		}
	}
}
