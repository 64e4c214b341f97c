package ops

import (
	"testing"
	"time"
)

// The time of the box counts as wrong only if it is before the request or after the answer.
func TestClockSkew(t *testing.T) {
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ended := begun.Add(20 * time.Second)
	for _, c := range []struct {
		now  string
		want time.Duration
		text string
	}{
		{"2026-01-02T03:04:05Z", 0, ""},
		{"2026-01-02T03:04:20Z", 0, ""},
		{"2026-01-02T03:04:28Z", 3 * time.Second, ""},
		{"2026-01-02T03:04:35Z", 10 * time.Second, "10s ahead"},
		{"2026-01-02T03:02:05Z", -2 * time.Minute, "2m0s behind"},
		{"2026-01-02T01:59:05Z", -65 * time.Minute, "1h5m behind"},
		{"2027-01-02T03:04:25Z", 365 * 24 * time.Hour, "8760h0m ahead"},
	} {
		got, err := clockSkew(c.now, begun, ended)
		if err != nil || got != c.want || SkewText(got) != c.text {
			t.Errorf("%s: %v %q, %v; want %v %q", c.now, got, SkewText(got), err, c.want, c.text)
		}
	}
	if _, err := clockSkew("noon", begun, ended); err == nil {
		t.Error("\"noon\" was accepted as a time")
	}
}
