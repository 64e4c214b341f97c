package limactl

import (
	"testing"
	"time"
)

// Calls with an Unlogged context are logged only if they fail.
func TestUnloggedCallsAreLoggedIfTheyFail(t *testing.T) {
	t.Parallel()
	c := stage(t)
	create(t, c, "main")
	var logged []Command
	c.config.Log = func(cmd Command) { logged = append(logged, cmd) }
	ctx := Unlogged(t.Context())
	if _, err := c.Instance(ctx, "main"); err != nil {
		t.Error(err)
	}
	if len(logged) != 0 {
		t.Errorf("logged %v", logged)
	}
	if _, err := c.run(ctx, time.Minute, nil, "list", "nope"); err == nil || len(logged) != 1 {
		t.Errorf("%v, logged %v", err, logged)
	}
}
