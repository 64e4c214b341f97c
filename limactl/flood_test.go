package limactl

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A limactl that prints without end is killed at a limit, even if it ignores closed pipes and signals.
func TestEndlessOutputIsLimited(t *testing.T) {
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
