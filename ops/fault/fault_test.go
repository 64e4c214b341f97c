package fault

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestHintAndDetailsAreFoundBelow(t *testing.T) {
	inner := New(Busy, "inner").Hint("wait").Detail("pid", 1)
	for name, err := range map[string]error{
		"itself":                             inner,
		"wrapped":                            fmt.Errorf("outer: %w", inner),
		"wrapped by an error without a hint": New(ExternalFailed, "outer: %w", inner),
		"second of two joined errors":        errors.Join(io.EOF, inner),
		"second of two %w":                   fmt.Errorf("%w; %w", io.EOF, inner),
	} {
		if HintOf(err) != "wait" || DetailsOf(err)["pid"] != 1 {
			t.Errorf("%s: hint %q, details %v", name, HintOf(err), DetailsOf(err))
		}
	}
	if HintOf(nil) != "" || HintOf(io.EOF) != "" || DetailsOf(io.EOF) != nil {
		t.Error("an error without a hint has one")
	}
}

func TestCodeOf(t *testing.T) {
	inner := New(Busy, "inner")
	for want, err := range map[Code]error{
		Busy:            fmt.Errorf("outer: %w", inner),
		HealthFailed:    New(HealthFailed, "outer: %w", inner), // the outermost code counts
		ExternalFailed:  io.EOF,
		IntegrityFailed: errors.Join(io.EOF, New(IntegrityFailed, "x")),
	} {
		if got := CodeOf(err); got != want {
			t.Errorf("%v has code %s, want %s", err, got, want)
		}
	}
}
