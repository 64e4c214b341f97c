package component

import (
	"context"
	"slices"
	"testing"

	"hermes-box/guest/durable"
	"hermes-box/guest/machine"
)

// recorder is a Machine that stores the commands that it is asked to run.
type recorder struct {
	Machine
	ran []machine.Cmd
}

func (r *recorder) Run(_ context.Context, c machine.Cmd) ([]byte, error) {
	r.ran = append(r.ran, c)
	return nil, nil
}

func (r *recorder) Chown(string, int, int) error { return nil }

// In a smoke run no program fetches or updates anything: hermes does not fetch its scanner, which is not pinned.
func TestSmokeRunFetchesNothing(t *testing.T) {
	r := &recorder{}
	env := Env{Tree: durable.Tree{Root: t.TempDir()}, Machine: r}
	if _, err := env.smokeRun(t.Context(), nil, "hermes", "--version"); err != nil || len(r.ran) != 1 {
		t.Fatalf("%v, ran %v", err, r.ran)
	}
	for _, want := range []string{"TIRITH_ENABLED=false", "DISABLE_UPDATES=1", "HERMES_DISABLE_LAZY_INSTALLS=1"} {
		if !slices.Contains(r.ran[0].Env, want) {
			t.Errorf("no %s in %q", want, r.ran[0].Env)
		}
	}
}
