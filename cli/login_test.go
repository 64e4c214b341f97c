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

	"hermes-box/internal/ttytest"
	"hermes-box/ops"
)

func TestLoginLists(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
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
  ◦ Executor's portal            to do  no service connected yet
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
	list := func(args ...string) signIns {
		t.Helper()
		out, stderr, err := m.run(append([]string{"login", "--json"}, args...)...)
		if err != nil || json.Unmarshal([]byte(out), &answer) != nil || !answer.OK || stderr != "" {
			t.Fatalf("%v %s\n%s", err, stderr, out)
		}
		return answer.Result
	}
	all := list()
	if all.Done != 2 || len(all.Steps) != 6 || !all.Steps[1].Done || !all.Steps[4].Done || all.Steps[4].URL != m.portal {
		t.Errorf("%+v", all)
	}
	if one := list("codex"); one.Done != 1 || len(one.Steps) != 1 || strings.Join(one.Steps[0].Command, " ") != "codex login --device-auth" {
		t.Errorf("%+v", one)
	}
}

func TestLoginRefuses(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"login nobody", 2, `login: there is no step "nobody"`},
		{"login claude codex", 2, `login does not take "codex"`},
		{"login claude", 2, "hint: in a terminal: hermes-box exec -t -- claude auth login"},
		{"login token", 2, "hint: hermes-box setup executor --token-stdin"},
		{"setup executor", 2, "hint: hermes-box setup executor --token-stdin"},
		{"setup", 2, "setup: an argument is missing"},
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

// A person goes through the steps of login with the keyboard.
func TestLoginWalk(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	tm := ttytest.Start(t, m.cmd("", "login"), 80, 24)
	tm.Shows("Sign in to box main: 0 of 6 done", "▸ ◦ Claude Code")
	tm.Type(enter, "works with your Anthropic account", "in the box: claude auth login", "▸ Run it here")
	tm.Type(enter, "Paste the code (in the demo any will do):")
	tm.Type("secret-code" + enter)

	// A step that is done is marked, and the next one is selected. A program that fails is reported.
	tm.Shows("✓ Claude Code                  done   signed in demo", "1 of 6 done", "▸ ◦ Codex")
	tm.Type(enter, "codex login --device-auth", "▸ Run it here")
	tm.Type(enter, "Press enter when it is done:")
	tm.Type(endOfInput, "press enter to go back to the sign-in")
	tm.Type(enter, "✗ codex login --device-auth ended with status 1", "▸ Run it here")
	tm.Type(down+enter, "1 of 6 done", "▸ ◦ Hermes Agent") // skip

	// Steps can be opened and left in any order.
	tm.Type(down+down+down+enter, "Hermes uses Executor with", "hermes-box setup executor", "▸ Run it here")
	tm.Type(esc, "▸ ◦ Executor's token")
	tm.Type(up+enter, "in the browser: http://127.0.0.1:", "▸ Open it in the browser")
	tm.Type(enter, "opened: "+m.portal, "▸ Open it")
	tm.Type(esc)

	tm.Shows("▸ ◦ Executor's portal")
	tm.Type(up+up+enter, "hermes setup", "▸ Run it here")
	tm.Type(enter, "API key (in the demo any will do):")
	tm.Type("a-key"+enter, "Which model? [demo-model]")
	tm.Type(enter)
	tm.Hears("✓.* make Hermes read its new setup")
	tm.Shows("✓ Hermes Agent", "✓ Hermes's model               done   demo-model", "▸ ◦ Executor's portal")

	// A wrong token is refused and asked for again; the right one is accepted.
	tm.Type(down+enter, "hermes-box setup executor", "▸ Run it here")
	tm.Type(enter, "Executor's token", "Paste it")
	tm.Type("0123456789"+enter, "executor does not accept this token", "▸ Run it here")
	tm.Type(enter, "Paste it")
	pasted := "\x1b[200~" + m.token + "\x1b[201~" // as terminals send a paste
	tm.Type(pasted+enter, "✓ Executor's token for Hermes  done   Hermes uses Executor", "4 of 6 done")
	if strings.Contains(tm.Output(), m.token) {
		t.Error("the token was shown")
	}

	// Leaving the list prints the state of all steps.
	tm.Type(esc, "4 of 6 signed in", "hermes-box exec -t -- codex login --device-auth")
	wantExit(t, tm, 0)
	if opened, err := os.ReadFile(filepath.Join(m.dir, "opened")); err != nil || string(opened) != m.portal+"\n" {
		t.Errorf("the browser was given %q: %v", opened, err)
	}
}

// If no API key is typed, hermes setup fails. That is reported, and the step is not marked as done.
func TestLoginEmptyKey(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	tm := ttytest.Start(t, m.cmd("", "login"), 80, 24)
	tm.Shows("▸ ◦ Claude Code")
	tm.Type(down+down+enter, "hermes setup", "▸ Run it here")
	tm.Type(enter, "API key (in the demo any will do):")
	tm.Type(enter, "no key was given", "press enter to go back to the sign-in")
	tm.Type(enter, "✗ hermes setup ended with status 1", "▸ Run it here")
	if out := tm.Output(); strings.Contains(out, "read its new setup") {
		t.Errorf("it says that Hermes read its setup: %q", out)
	}
	tm.Type(esc, "▸ ◦ Hermes Agent")
	tm.Type(esc, "0 of 6 signed in")
	wantExit(t, tm, 0)
}

// The forms use the alternate screen: the shell's output is not drawn over, and is shown again while a program of the
// box runs and after login has ended.
func TestLoginLeavesTheShellsScreen(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	login := m.cmd("", "login")
	shell := exec.Command("sh", "-c", `echo "what the shell wrote"; "$0" "$@"`, login.Path)
	shell.Args, shell.Env, shell.Dir = append(shell.Args, login.Args[1:]...), login.Env, login.Dir
	tm := ttytest.Start(t, shell, 80, 24)
	tm.Shows("▸ ◦ Claude Code")
	if s := tm.Text(); strings.Contains(s, "what the shell wrote") || !tm.Mode(1049) {
		t.Errorf("the list is drawn over what the shell wrote:\n%s", s)
	}
	tm.Type(enter, "▸ Run it here")
	tm.Type(enter, "Paste the code", "what the shell wrote", "hermes-box: in the box: claude auth login")
	if tm.Mode(1049) {
		t.Error("the program does not run on the normal screen")
	}
	tm.Type("code"+enter, "1 of 6 done")
	if s := tm.Text(); strings.Contains(s, "what the shell wrote") {
		t.Errorf("the list is drawn over what the shell wrote:\n%s", s)
	}
	tm.Type(esc, "what the shell wrote", "1 of 6 signed in")
	wantExit(t, tm, 0)
}

// A command on a card fits on one line of 80 columns, even with --demo in it.
func TestCommandsOnACardAreNotWrapped(t *testing.T) {
	a := &app{demo: true}
	card := wrapped(cardText(ops.SignIn{Why: "why", Setup: "executor", Type: a.typed("hermes-box setup executor"), Ask: a.typed(ops.ShowToken)}), io.Discard)
	for _, command := range []string{"hermes-box --demo setup executor\n", "\nhermes-box --demo exec -- sudo cat /data/secrets/executor-token.env\n"} {
		if !strings.Contains(card, command) {
			t.Errorf("%q is not on one line in\n%s", command, card)
		}
	}
}

// "check again" shows sign-ins and sign-outs that were made outside of login.
func TestLoginChecksAgain(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	tm := ttytest.Start(t, m.cmd("", "login"), 80, 24)
	tm.Shows("0 of 6 done", "▸ ◦ Claude Code")
	tm.Type(enter, "▸ Run it here")
	m.must("exec", "--", "sh", "-c", "echo code | claude auth login")
	tm.Type(up+enter, "✓ Claude Code", "▸ Skip") // up from the first entry goes to the last one
	tm.Type(esc, "1 of 6 done", "▸ ✓ Claude Code")
	m.must("exec", "--", "claude", "auth", "logout")
	tm.Type(up+up+enter, "0 of 6 done") // check again
	tm.Type(ctrlC)
	wantExit(t, tm, 0)
}

func TestLoginOneStep(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	tm := ttytest.Start(t, m.cmd("", "login", "claude"), 80, 24)
	tm.Shows("Paste the code (in the demo any will do):")
	tm.Type("code"+enter, "✓ Claude Code                  done   signed in demo")
	wantExit(t, tm, 0)

	tm = ttytest.Start(t, m.cmd("", "login", "codex"), 80, 24)
	tm.Shows("Press enter when it is done:")
	tm.Type(endOfInput, "hermes-box: codex login --device-auth ended with status 1", "hint: hermes-box login codex")
	wantExit(t, tm, 1)

	// A sign-in does not begin while the clock of the box is an hour behind: its tokens would not be valid.
	inject(t, m.machine, "clock-skew")
	tm = ttytest.Start(t, m.cmd("", "login", "codex"), 80, 24)
	tm.Shows("behind this machine's: signing in would", "hint: hermes-box exec -- sudo systemctl restart systemd-timesyncd")
	wantExit(t, tm, 1)
	if strings.Contains(tm.Output(), "Press enter when it is done:") {
		t.Error("the sign-in began")
	}
	heal(t, m.machine, "clock-skew")

	out, stderr, err := m.run("login", "executor")
	if want := m.portal + "\n◦ Executor's portal            to do  no service connected yet\n"; err != nil || out != want {
		t.Errorf("%v %s%s", err, out, stderr)
	}
}

// cursorMoves matches escape sequences other than colours.
var cursorMoves = regexp.MustCompile(`\x1b(\[[0-9;?]*[^0-9;?m]|[^\[])`)

// For screen readers, login prints lines and reads lines.
func TestLoginAccessible(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"ACCESSIBLE=1", "TERM=dumb"} {
		t.Run(env, func(t *testing.T) {
			m := newDemoBox(t)
			tm := ttytest.Start(t, m.cmd("", "login"), 80, 24, env)
			tm.Hears("Enter a number between 1 and 8: ")
			if all := tm.Output(); !strings.Contains(all, "1. ◦ Claude Code                  to do  not signed in\r\n") || !strings.Contains(all, "8.   Leave") {
				t.Errorf("%s", all)
			}
			tm.Type("1" + enter)
			tm.Hears("in the box: claude auth login")
			tm.Hears("Enter a number between 1 and 3: ")
			tm.Type("1" + enter)
			tm.Hears("Paste the code .in the demo any will do.: ")
			tm.Type("code" + enter)
			tm.Hears("✓ Claude Code                  done   signed in demo")
			tm.Hears("Enter a number between 1 and 8: ")
			tm.Type("6" + enter)
			tm.Hears("on this machine: hermes-box setup executor")
			tm.Hears("Enter a number between 1 and 3: ")
			tm.Type("1" + enter)
			tm.Hears("Executor's token")
			tm.Type(m.token + enter)
			tm.Hears("✓ Executor's token for Hermes")
			tm.Hears("Enter a number between 1 and 8: ")
			if all := tm.Output(); strings.Contains(all, m.token) || cursorMoves.MatchString(all) || env == "TERM=dumb" && strings.Contains(all, "\x1b") {
				t.Errorf("the output has the token, or a sequence that moves the cursor: %q", all)
			}
			tm.Type(endOfInput) // leaves, and runs nothing
			tm.Hears("2 of 6 signed in")
			wantExit(t, tm, 0)
		})
	}
}

// A login or setup that is terminated restores the terminal.
func TestLoginSignals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, env string
		until     func(*ttytest.Terminal)
	}{
		{"list", "", func(tm *ttytest.Terminal) { tm.Shows("▸ ◦ Claude Code") }},
		{"list in lines", "ACCESSIBLE=1", func(tm *ttytest.Terminal) { tm.Hears("between 1 and 8: ") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newDemoBox(t)
			tm := ttytest.Start(t, m.cmd("", "login"), 80, 24, c.env)
			c.until(tm)
			tm.Signal(syscall.SIGTERM)
			wantExit(t, tm, 130)
		})
	}
	for _, env := range []string{"", "ACCESSIBLE=1"} {
		t.Run("token "+env, func(t *testing.T) {
			m := newDemoBox(t)
			tm := ttytest.Start(t, m.cmd("", "setup", "executor"), 80, 24, env)
			tm.Hears("Executor's token")
			tm.Type("half a tok")
			tm.Signal(syscall.SIGTERM)
			wantExit(t, tm, 130)
		})
	}
}

func TestLoginPlain(t *testing.T) {
	t.Parallel()
	m := newDemoBox(t)
	tm := ttytest.Start(t, m.cmd("", "login"), 80, 24, "NO_COLOR=1")
	tm.Shows("▸ ◦ Claude Code")
	for _, colour := range []string{"\x1b[3", "\x1b[9", "\x1b[38"} {
		if strings.Contains(tm.Output(), colour) {
			t.Errorf("coloured: %q", tm.Output())
		}
	}
	// login keeps running on a terminal of any size.
	for _, size := range [][2]int{{1, 1}, {12, 3}, {80, 9}} {
		tm.Resize(size[0], size[1])
	}
	tm.Until("a part of the list", func(screen string) bool {
		return strings.Contains(screen, "↑ up") && !strings.Contains(screen, "Leave")
	})
	tm.Resize(80, 24)
	tm.Shows("▸ ◦ Claude Code", "Leave")
	tm.Type(esc)
	wantExit(t, tm, 0)
}
