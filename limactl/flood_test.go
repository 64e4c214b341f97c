package limactl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A limactl that never stops talking is ended before it has filled the memory, also one that minds neither a closed pipe
// nor a signal.
func TestEndlessOutputIsCutOff(t *testing.T) {
	for name, script := range map[string]string{
		"stdout":   "exec cat /dev/zero",
		"stderr":   "exec cat /dev/zero >&2",
		"stubborn": "trap '' PIPE TERM\ncat /dev/zero\nwhile :; do sleep 0.1; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "limactl")
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			out, err := New(Config{Program: program, Home: t.TempDir()}).run(t.Context(), time.Minute, nil, "list")
			if !errors.Is(err, errEndless) || max(len(out.stdout), len(out.stderr)) > maxOutput {
				t.Errorf("%v, %d and %d bytes", err, len(out.stdout), len(out.stderr))
			}
		})
	}
}

// A program in the box can see the mark of its session. With half a status that never ends it fills no memory.
func TestEndlessMarkIsHandedOn(t *testing.T) {
	var out strings.Builder
	m := &markWriter{mark: "[mark]", w: &out, begun: make(chan struct{})}
	for _, part := range []string{"[mark]+", "a[mark]=", strings.Repeat("7", 100), strings.Repeat("b", 100), "[mark]=3;"} {
		if _, err := m.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if len(m.held) > 64 {
			t.Fatalf("%d bytes are held back", len(m.held))
		}
	}
	if status, ok := m.status(); !ok || status != 3 || out.Len() != 201 {
		t.Errorf("status %d, %v; %d bytes", status, ok, out.Len())
	}
}
