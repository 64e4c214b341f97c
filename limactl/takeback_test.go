package limactl

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
)

// What ended by itself keeps what it has left on the terminal; only what was cut off is cleared away.
func TestTakeBackOnlyWhatWasCutOff(t *testing.T) {
	ended := func(how string) error { return exec.Command("sh", "-c", how).Run() }
	for _, c := range []struct {
		err  error
		back bool
	}{
		{nil, false},
		{&ExitError{Status: 7}, false},
		{&ExitError{Status: Lost}, false}, // the command's own: Exec tells them apart
		{ended("exit 7"), false},
		{ended("exit 255"), true},
		{ended("kill -9 $$"), true},
		{&TransportError{Instance: "main", Started: true, Err: ended("exit 255")}, true},
		{&TransportError{Instance: "main", Err: ended("exit 255")}, false}, // it never began
		{&Error{Message: "the box is stopped"}, false},
		{context.Canceled, true},
	} {
		var out strings.Builder
		TakeBack(&out, c.err)
		if got := out.Len() > 0; got != c.back {
			t.Errorf("%v: taken back %v, want %v", c.err, got, c.back)
		}
	}
}

// Text goes on where it was before the session, whether that had another screen or not.
func TestTakeBackKeepsThePlace(t *testing.T) {
	for _, session := range []string{"", "\x1b[?1049h\x1b[2J\x1b[5;10r\x1b[9;9Hdrawn\x1b[31m"} {
		screen := vt.NewEmulator(40, 10)
		fmt.Fprint(screen, "above\r\n$ session", session)
		TakeBack(screen, context.Canceled)
		fmt.Fprint(screen, ": lost")
		if got := strings.Join(strings.Fields(screen.Render()), " "); got != "above $ session: lost" {
			t.Errorf("after %q: %q", session, got)
		}
	}
}
