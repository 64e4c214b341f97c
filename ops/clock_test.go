package ops

import (
	"strings"
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
		{"2026-01-02T03:04:35Z", 10 * time.Second, "10s ahead of"},
		{"2026-01-02T03:02:05Z", -2 * time.Minute, "2m0s behind"},
		{"2026-01-02T01:59:05Z", -65 * time.Minute, "1h5m behind"},
		{"2027-01-02T03:04:25Z", 365 * 24 * time.Hour, "8760h0m ahead of"},
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

// A sign-in begins while the clock of the box is wrong by up to a minute, and not while it is wrong by more.
func TestSignInSkew(t *testing.T) {
	for skew, text := range map[time.Duration]string{
		0:                 "",
		59 * time.Second:  "",
		-59 * time.Second: "",
		61 * time.Second:  "the clock of the box is 1m1s ahead of this machine's",
		-61 * time.Second: "the clock of the box is 1m1s behind this machine's",
	} {
		if err := signInSkew(skew); (err != nil) != (text != "") || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v, want %q", skew, err, text)
		}
	}
}
