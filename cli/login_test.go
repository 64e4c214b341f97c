package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"hermes-box/ops"
)

// Keys.
const (
	enter = "\r"
	down  = "\x1b[B"
	up    = "\x1b[A"
	esc   = "\x1b"
	ctrlC = "\x03"

	endOfInput = "\x04"
)

func TestLoginLists(t *testing.T) {
	t.Parallel()
	m := newInhabited(t)
	out, stderr, err := m.run("login")
	want := `0 of 6 signed in
  ◦ Claude Code                  to do  not signed in
    hermes-box exec -t -- claude auth login
  ◦ Codex                        to do  not signed in
    hermes-box exec -t -- codex login --device-auth
  ◦ Hermes Agent                 to do  not set up
    hermes-box exec -t -- hermes setup
  ◦ Hermes's model               to do  no model chosen
    hermes-box exec -t -- hermes model
  ◦ Executor's portal            to do  nothing connected yet
    hermes-box open executor
  ◦ Executor's token for Hermes  to do  Hermes has no token
    hermes-box setup executor
`
	if err != nil || out != want || stderr != "" {
		t.Errorf("%v %s\n%s", err, stderr, out)
	}

	m.must("exec", "--", "sh", "-c", "echo | codex login --device-auth")
	m.connect()
	var answer struct {
		OK     bool
		Result signIns
	}
	look := func(args ...string) signIns {
		t.Helper()
		out, stderr, err := m.run(append([]string{"login", "--json"}, args...)...)
		if err != nil || json.Unmarshal([]byte(out), &answer) != nil || !answer.OK || stderr != "" {
			t.Fatalf("%v %s\n%s", err, stderr, out)
		}
		return answer.Result
	}
	all := look()
	if all.Done != 2 || len(all.Steps) != 6 || !all.Steps[1].Done || !all.Steps[4].Done || all.Steps[4].URL != m.portal {
		t.Errorf("%+v", all)
	}
	if one := look("codex"); one.Done != 1 || len(one.Steps) != 1 || strings.Join(one.Steps[0].Command, " ") != "codex login --device-auth" {
		t.Errorf("%+v", one)
	}
}

func TestLoginRefuses(t *testing.T) {
	t.Parallel()
	m := newInhabited(t)
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"login nobody", 2, `nothing to sign in to is called "nobody"`},
		{"login claude codex", 2, `login does not take "codex"`},
		{"login claude", 2, "hint: run it in one: hermes-box exec -t -- claude auth login"},
		{"login token", 2, "hint: hermes-box setup executor --token-stdin"},
		{"setup executor", 2, "hint: hermes-box setup executor --token-stdin"},
		{"setup", 2, "setup: something is missing"},
		{"setup hermes", 2, "hint: hermes-box setup executor"},
	} {
		out, stderr, err := m.run(strings.Fields(c.args)...)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != c.status || !strings.Contains(stderr, c.want) || out != "" {
			t.Errorf("%s: %v\n%s%s", c.args, err, out, stderr)
		}
	}
	m.must("stop", "--quiet")
	if _, stderr, err := m.run("login"); err == nil || !strings.Contains(stderr, "hint: hermes-box start") {
		t.Errorf("a box that is stopped: %v %s", err, stderr)
	}
}

// A person walks through all of it, by keys.
func TestLoginWalk(t *testing.T) {
	t.Parallel()
	m := newInhabited(t)
	x := onScreen(t, m.cmd("", "login"))
	x.see("Sign in to box main: 0 of 6 done", "▸ ◦ Claude Code")
	x.typed(enter)
	x.see("works with your Anthropic account", "in the box: claude auth login", "▸ Run it here")
	x.typed(enter)
	x.see("Paste the code (in the demo any will do):")
	x.typed("secret-code" + enter)

	// It is told that it is done; what comes next is chosen already. A program that fails is told too.
	x.see("✓ Claude Code                  done   signed in demo", "1 of 6 done", "▸ ◦ Codex")
	x.typed(enter)
	x.see("codex login --device-auth", "▸ Run it here")
	x.typed(enter)
	x.see("Press enter when it is done:")
	x.typed(endOfInput)
	x.see("codex login --device-auth ended with status 1", "▸ Run it here")
	x.typed(down + enter) // skip
	x.see("1 of 6 done", "▸ ◦ Hermes Agent")

	// Any order: up and down, in and out of a step.
	x.typed(down + down + down + enter)
	x.see("Hermes uses Executor with", "hermes-box setup executor", "▸ Run it here")
	x.typed(esc)
	x.see("▸ ◦ Executor's token")
	x.typed(up + enter)
	x.see("in the browser: http://127.0.0.1:", "▸ Open it in the browser")
	x.typed(enter)
	x.until(func() bool {
		return strings.Count(x.text(), m.portal) == 2 && strings.Contains(x.text(), "▸ Open it")
	}, "the address, and the card again")
	x.typed(esc)

	x.see("▸ ◦ Executor's portal")
	x.typed(up + up + enter)
	x.see("hermes setup", "▸ Run it here")
	x.typed(enter)
	x.see("API key (in the demo any will do):")
	x.typed("a-key" + enter)
	x.see("Which model? [demo-model]")
	x.typed(enter)
	x.see("✓ have hermes take up its setup", "✓ Hermes Agent", "✓ Hermes's model               done   demo-model", "▸ ◦ Executor's portal")

	// A wrong token is refused and asked for again, the right one is given.
	x.typed(down + enter)
	x.see("hermes-box setup executor", "▸ Run it here")
	x.typed(enter)
	x.see("Executor's token", "Paste it")
	x.typed("0123456789" + enter)
	x.see("executor does not take this token", "▸ Run it here")
	x.typed(enter)
	x.see("Paste it")
	x.typed("\x1b[200~" + m.token + "\x1b[201~" + enter) // as terminals send what is pasted
	x.see("✓ Executor's token for Hermes  done   Hermes knows Executor", "4 of 6 done")
	if strings.Contains(x.all(), m.token) {
		t.Error("the token was shown")
	}

	// Leaving shows how it stands.
	x.typed(esc)
	x.see("4 of 6 signed in", "hermes-box exec -t -- codex login --device-auth")
	x.ends(0)
	if opened, err := os.ReadFile(filepath.Join(m.dir, "opened")); err != nil || string(opened) != m.portal+"\n" {
		t.Errorf("the browser was given %q: %v", opened, err)
	}
}

// A command on a card is on one line of a terminal of 80 columns, also as it is typed in the demo.
func TestCommandsOnACardAreWhole(t *testing.T) {
	a := &app{demo: true}
	card := wrapped(cardText(ops.SignIn{Why: "why", Setup: "executor", Type: a.typed("hermes-box setup executor"), Ask: a.typed(ops.ShowToken)}), io.Discard)
	for _, command := range []string{"hermes-box --demo setup executor\n", "\nhermes-box --demo exec -- sudo cat /data/secrets/executor-token.env\n"} {
		if !strings.Contains(card, command) {
			t.Errorf("%q is not whole in\n%s", command, card)
		}
	}
}

// Nothing is remembered: what was signed in outside shows when it is looked at again, and what was undone too.
func TestLoginLooksAgain(t *testing.T) {
	t.Parallel()
	m := newInhabited(t)
	x := onScreen(t, m.cmd("", "login"))
	x.see("0 of 6 done", "▸ ◦ Claude Code")
	x.typed(enter)
	x.see("▸ Run it here")
	m.must("exec", "--", "sh", "-c", "echo code | claude auth login")
	x.typed(up + enter) // from the first to the last: check again
	x.see("✓ Claude Code", "▸ Skip")
	x.typed(esc)
	x.see("1 of 6 done", "▸ ✓ Claude Code")
	m.must("exec", "--", "claude", "auth", "logout")
	x.typed(up + up + enter) // look again
	x.see("0 of 6 done")
	x.typed(ctrlC)
	x.ends(0)
}

func TestLoginOneStep(t *testing.T) {
	t.Parallel()
	m := newInhabited(t)
	x := onScreen(t, m.cmd("", "login", "claude"))
	x.see("Paste the code (in the demo any will do):")
	x.typed("code" + enter)
	x.see("✓ Claude Code                  done   signed in demo")
	x.ends(0)

	x = onScreen(t, m.cmd("", "login", "codex"))
	x.see("Press enter when it is done:")
	x.typed(endOfInput)
	x.see("hermes-box: codex login --device-auth ended with status 1", "hint: hermes-box login codex")
	x.ends(1)

	out, stderr, err := m.run("login", "executor")
	if want := m.portal + "\n◦ Executor's portal            to do  nothing connected yet\n"; err != nil || out != want {
		t.Errorf("%v %s%s", err, out, stderr)
	}
}

// moves are sequences that do anything but colour.
var moves = regexp.MustCompile(`\x1b(\[[0-9;?]*[^0-9;?m]|[^\[])`)

// For screen readers everything is said in lines and answered in lines.
func TestLoginAccessible(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"ACCESSIBLE=1", "TERM=dumb"} {
		t.Run(env, func(t *testing.T) {
			m := newInhabited(t)
			x := onScreen(t, m.cmd("", "login"), env)
			at := x.hear(0, "Enter a number between 1 and 8: ")
			if all := x.all(); !strings.Contains(all, "1. ◦ Claude Code                  to do  not signed in\r\n") || !strings.Contains(all, "8.   Leave") {
				t.Errorf("%s", all)
			}
			x.typed("1" + enter)
			at = x.hear(at, "in the box: claude auth login")
			at = x.hear(at, "Enter a number between 1 and 3: ")
			x.typed("1" + enter)
			at = x.hear(at, "Paste the code (in the demo any will do): ")
			x.typed("code" + enter)
			at = x.hear(at, "✓ Claude Code                  done   signed in demo")
			at = x.hear(at, "Enter a number between 1 and 8: ")
			x.typed("6" + enter)
			at = x.hear(at, "on this machine: hermes-box setup executor")
			at = x.hear(at, "Enter a number between 1 and 3: ")
			x.typed("1" + enter)
			at = x.hear(at, "Executor's token")
			x.typed(m.token + enter)
			at = x.hear(at, "✓ Executor's token for Hermes")
			at = x.hear(at, "Enter a number between 1 and 8: ")
			if all := x.all(); strings.Contains(all, m.token) || moves.MatchString(all) || env == "TERM=dumb" && strings.Contains(all, "\x1b") {
				t.Errorf("the token, or a sequence that moves the cursor: %q", all)
			}
			x.typed(endOfInput) // it of the input leaves, and runs nothing
			x.hear(at, "2 of 6 signed in")
			x.ends(0)
		})
	}
}

// Whatever ends it, the terminal is as it was.
func TestLoginSignals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, env string
		until     func(*screen)
	}{
		{"list", "A=b", func(x *screen) { x.see("▸ ◦ Claude Code") }},
		{"list in lines", "ACCESSIBLE=1", func(x *screen) { x.hear(0, "between 1 and 8: ") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newInhabited(t)
			x := onScreen(t, m.cmd("", "login"), c.env)
			c.until(x)
			x.cmd.Process.Signal(syscall.SIGTERM)
			x.ends(130)
		})
	}
	for _, env := range []string{"A=b", "ACCESSIBLE=1"} {
		t.Run("token "+env, func(t *testing.T) {
			m := newInhabited(t)
			x := onScreen(t, m.cmd("", "setup", "executor"), env)
			x.hear(0, "Executor's token")
			x.typed("half a tok")
			x.cmd.Process.Signal(syscall.SIGTERM)
			x.ends(130)
		})
	}
}

func TestLoginPlain(t *testing.T) {
	t.Parallel()
	m := newInhabited(t)
	x := onScreen(t, m.cmd("", "login"), "NO_COLOR=1")
	x.see("▸ ◦ Claude Code")
	for _, colour := range []string{"\x1b[3", "\x1b[9", "\x1b[38"} {
		if strings.Contains(x.all(), colour) {
			t.Errorf("coloured: %q", x.all())
		}
	}
	// Small terminals: no size ends it.
	for _, size := range [][2]int{{1, 1}, {12, 3}, {80, 9}} {
		x.resize(size[0], size[1])
	}
	x.until(func() bool { return strings.Contains(x.text(), "↑ up") && !strings.Contains(x.text(), "Leave") }, "a part of the list")
	x.resize(80, 24)
	x.see("▸ ◦ Claude Code", "Leave")
	x.typed(esc)
	x.ends(0)
}
