package cli

import (
	"testing"
	"time"
)

// No duration is negative, even if the clock was set back.
func TestDurations(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{now, "0s ago"},
		{now.Add(500 * time.Millisecond), "0s ago"},
		{now.Add(-time.Hour), "1h ago"},
		{now.Add(-90 * time.Minute), "1h 30m ago"},
		{now.Add(-50 * time.Hour), "2d 2h ago"},
		{now.Add(time.Hour), "at " + now.Add(time.Hour).Local().Format(time.DateTime) + ", which is in the future by this machine's clock"},
	} {
		if got := ago(c.at, now); got != c.want {
			t.Errorf("%v: %s, want %s", c.at, got, c.want)
		}
	}
	if got := seconds(-5); got != "0.0s" {
		t.Errorf("seconds(-5) = %q", got)
	}
}
