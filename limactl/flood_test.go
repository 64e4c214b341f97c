package limactl

import (
	"errors"
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
			out, err := fake(t, New(Config{Home: t.TempDir()}), script).run(t.Context(), time.Minute, nil, "list")
			if !errors.Is(err, errEndless) || max(len(out.stdout), len(out.stderr)) > maxOutput {
				t.Errorf("%v, %d and %d bytes", err, len(out.stdout), len(out.stderr))
			}
		})
	}
}
