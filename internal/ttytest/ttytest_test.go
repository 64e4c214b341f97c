package ttytest

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recorder is a T that records failures instead of failing the test.
type recorder struct {
	*testing.T
	failures []string
}

func (v *recorder) Error(a ...any)            { v.failures = append(v.failures, fmt.Sprint(a...)) }
func (v *recorder) Errorf(f string, a ...any) { v.Error(fmt.Sprintf(f, a...)) }
func (v *recorder) Fatal(a ...any)            { v.Error(a...); runtime.Goexit() }
func (v *recorder) Fatalf(f string, a ...any) { v.Fatal(fmt.Sprintf(f, a...)) }

// failures runs check with a program on a terminal, and returns the failures it reports.
func failures(t *testing.T, cmd *exec.Cmd, check func(*Terminal)) string {
	v := &recorder{T: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(Start(v, cmd, 80, 24))
	}()
	<-done
	return strings.Join(v.failures, "\n")
}

func shell(script string) *exec.Cmd { return exec.Command("sh", "-c", script) }

// Restored reports each mode that a program has not restored, and nothing if the program has restored all.
func TestRestored(t *testing.T) {
	for script, want := range map[string]string{
		"echo":                                "",
		"was=$(stty -g); stty raw; stty $was": "",
		"stty -echo":                          "settings",
		"stty raw":                            "settings",
		`printf '\033[?1049h'`:                "alternate screen",
		`printf '\033[?1002h'`:                "mouse",
		`printf '\033[?2004h'`:                "bracketed paste",
		`printf '\033[?25l'`:                  "cursor",
		`printf '\033[>1u'`:                   "is not reset",
		`printf '\033[>1u\033[<1u'`:           "",
	} {
		got := failures(t, shell(script), func(tm *Terminal) {
			tm.Ends(time.Minute)
			tm.Restored()
		})
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

// A wait for something that does not appear fails the test: at once if the program has ended, otherwise after
// Patience.
func TestWaitsFail(t *testing.T) {
	for _, c := range []struct {
		script, want string
		check        func(*Terminal)
	}{
		{"echo here", "", func(tm *Terminal) { tm.Shows("here") }},
		{"echo here", "ended", func(tm *Terminal) { tm.Shows("here", "there") }},
		{"echo here; cat", "never shows here, there", func(tm *Terminal) { tm.Shows("here", "there") }},
		{"echo here; cat", "never shows a screen without here", func(tm *Terminal) { tm.Shows("here"); tm.Hides("here") }},
		{`echo here; read line; printf '\033[2J'; sleep .02; echo here; cat`, "never shows a screen without here", func(tm *Terminal) {
			tm.Shows("here")
			tm.Type("\n")
			tm.Hides("here")
		}},
		{"echo here", "ended", func(tm *Terminal) { tm.Hears("here"); tm.Hears("here") }},
		{"exit 7", "", func(tm *Terminal) {
			if status := tm.Ends(time.Minute); status != 7 {
				tm.t.Error(status)
			}
		}},
		{"cat", "has not ended", func(tm *Terminal) { tm.Ends(time.Millisecond) }},
	} {
		got := failures(t, shell(c.script), func(tm *Terminal) {
			if c.want != "" && c.want != "ended" {
				tm.Patience = 500 * time.Millisecond
			}
			c.check(tm)
		})
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.script, got, c.want)
		}
	}
}

// The failure for a program that hangs has the stacks of its goroutines.
func TestHangs(t *testing.T) {
	if os.Getenv("HANG") != "" {
		hangHere()
	}
	cmd := exec.Command(os.Args[0], "-test.run=TestHangs", "-test.v")
	cmd.Env = append(os.Environ(), "HANG=yes")
	got := failures(t, cmd, func(tm *Terminal) {
		tm.Shows("RUN")
		tm.Ends(time.Second)
	})
	if !strings.Contains(got, "has not ended") || !strings.Contains(got, "ttytest.hangHere") {
		t.Error(got)
	}
}

func hangHere() { time.Sleep(time.Hour) }

// A program gets the signals of keys even if the test process ignores them, as it does in the background of a script.
func TestKeysSendIgnoredSignals(t *testing.T) {
	signal.Ignore(syscall.SIGINT)
	defer signal.Reset(syscall.SIGINT)
	tm := Start(t, shell("trap 'echo heard' INT; echo ready; while :; do read line; done"), 80, 24)
	tm.Shows("ready")
	tm.Type("\x03", "heard")
}

// Hears does not match the same output twice.
func TestHears(t *testing.T) {
	tm := Start(t, shell("echo one two; echo one; read line; echo one three; cat"), 80, 24)
	if got := tm.Hears("t[a-z]o"); got != "one two" {
		t.Errorf("%q", got)
	}
	tm.Hears("one")
	tm.Type("\n")
	if got := tm.Hears("one.*ee"); !strings.Contains(got, "one three") {
		t.Errorf("%q", got)
	}
}

// A program that only reads gets the signals of a resize and of a closed terminal.
func TestResizeAndHangUp(t *testing.T) {
	tm := Start(t, shell(`trap 'stty size' WINCH; stty size; while :; do read line; done`), 40, 10)
	tm.Shows("10 40")
	tm.Resize(50, 20)
	tm.Type("\n", "20 50")
	tm.HangUp()
	tm.Ends(time.Minute)
}
