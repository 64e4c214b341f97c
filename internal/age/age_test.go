package age

import (
	"testing"
	"time"
)

func TestFormat(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Minute:                   "0s",
		0:                              "0s",
		59 * time.Second:               "59s",
		time.Minute:                    "1m",
		time.Hour - time.Second:        "59m",
		time.Hour:                      "1h",
		time.Hour + 59*time.Second:     "1h",
		3*time.Hour + 4*time.Minute:    "3h 4m",
		24 * time.Hour:                 "1d",
		24*time.Hour + 59*time.Minute:  "1d",
		3*24*time.Hour + 5*time.Hour:   "3d 5h",
		400*24*time.Hour - time.Second: "399d 23h",
	} {
		if got := Format(d); got != want {
			t.Errorf("Format(%v) = %q, want %q", d, got, want)
		}
	}
}
