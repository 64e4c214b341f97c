package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/internal/ttytest"
)

// wantLinked fails if Hermes's .env or config.yaml is incomplete, if another setup with Executor's token does not
// work, if the host's state directory then holds the token, or if the box is not sound. At the end it removes both
// files.
func (m *demoBox) wantLinked(after string) {
	m.t.Helper()
	env, config := m.hermesFile(".env"), m.hermesFile("config.yaml")
	if env != "" && env != "MCP_EXECUTOR_API_KEY="+m.token+"\n" || config != "" && !strings.Contains(config, "Bearer ${MCP_EXECUTOR_API_KEY}") {
		m.t.Errorf("after %s, .env is %q, config.yaml %q", after, env, config)
	}
	if out, stderr, status := m.setup(m.token, "--token-stdin", "--quiet"); status != 0 {
		m.t.Errorf("a setup after %s: %d\n%s%s", after, status, out, stderr)
	}
	if out := m.must("login", "--json", "token"); !strings.Contains(out, `"done":true`) {
		m.t.Errorf("after %s and another setup: %s", after, out)
	}
	m.wantNoSecret(m.token)
	m.wantSound(after)
	m.must("exec", "--", "sh", "-c", "rm -f ~/.hermes/.env ~/.hermes/config.yaml")
}

// If setup is killed after one of its steps, or the box reboots after one, neither of the files that setup writes is
// incomplete, and the same setup works.
func TestKilledSetup(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newDemoBox(t)
	for _, step := range []string{"token", "hermes"} { // the steps in the plan of SetupExecutor
		c := m.cmd(step, "setup", "executor", "--token-stdin", "--quiet")
		c.Stdin = strings.NewReader(m.token)
		out, _ := c.CombinedOutput()
		if !c.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			t.Fatalf("setup was not killed after %s: %s", step, out)
		}
		if env := m.hermesFile(".env"); (env != "") != (step == "hermes") {
			t.Errorf("killed after %s: .env is %q", step, env)
		}
		m.wantLinked("a setup killed after " + step)

		c = m.cmd("", "setup", "executor", "--token-stdin", "--json")
		c.Stdin = strings.NewReader(m.token)
		c.Env = append(c.Env, rebootVariable+"="+step+" main")
		if text, err := c.Output(); err != nil {
			if a := decode[any](t, string(text)); a.Error.Message == "" || a.Error.Recovery == "" {
				t.Errorf("rebooted after %s: %v %s", step, err, text)
			}
		}
		m.waitForState("running")
		m.wantLinked("a setup whose box rebooted after " + step)
	}
}

// losesCalls replaces ssh. After lose, only the first calls of the helper work, as many as are allowed; all others lose
// their connection until mend. If done is true, the box does what it is asked to, and only its answer is lost.
func (m *machine) losesCalls() (lose func(allowed int, done bool), mend func()) {
	m.t.Helper()
	path := filepath.Join(m.dir, "calls")
	m.script("ssh", `test -f `+path+` || exec $REAL "$@"
case "$*" in *"hermes-box-guest channel"*) ;; *) exec $REAL "$@";; esac
read n done <`+path+`
echo $((n - 1)) $done >`+path+`
test $n -le 0 || exec $REAL "$@"
test $done = false || $REAL "$@" >/dev/null 2>&1
exit 255`)
	return func(allowed int, done bool) { m.write("calls", fmt.Appendf(nil, "%d %v\n", allowed, done)) }, func() {
		if err := os.Remove(path); err != nil {
			m.t.Fatal(err)
		}
	}
}

// If the connection is lost in any of the calls of setup, before or after the box has done what the call asks for,
// setup fails with a hint, neither of the files that it writes is incomplete, and the same setup works.
func TestSetupLosesItsConnection(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newDemoBox(t)
	lose, mend := m.losesCalls()
	failed := 0
	for _, done := range []bool{false, true} {
		for calls := 0; ; calls++ {
			lose(calls, done)
			out, stderr, status := m.setup(m.token, "--token-stdin", "--json")
			mend()
			if status == 0 {
				break
			}
			failed++
			after := fmt.Sprintf("a setup that lost its connection after %d calls (done: %v)", calls, done)
			if a := decode[any](t, out); a.Error.Message == "" || a.Error.Recovery == "" {
				t.Errorf("%s: %s%s", after, out, stderr)
			}
			if env := m.hermesFile(".env"); env != "" && !done {
				t.Errorf("%s: .env is %q", after, env)
			}
			m.wantLinked(after)
		}
		m.must("exec", "--", "sh", "-c", "rm -f ~/.hermes/.env ~/.hermes/config.yaml")
	}
	if t.Logf("%d setups lost their connection", failed); failed < 2 {
		t.Error("too few setups lost their connection")
	}
}

// If login is killed while Hermes reads its new setup, or loses its connection then, what the person has set up stays,
// and the same step works again.
func TestLoginKilledOrCutOff(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newDemoBox(t)
	lose, mend := m.losesCalls()
	walk := func(step string) *ttytest.Terminal {
		t.Helper()
		tm := ttytest.Start(t, m.cmd(step, "login", "hermes"), 80, 24)
		tm.Shows("API key (in the demo any will do):")
		return tm
	}
	finish := func(tm *ttytest.Terminal) {
		t.Helper()
		tm.Type("a-key"+enter, "Which model? [demo-model]")
		tm.Type(enter)
	}
	tm := walk("hermes")
	finish(tm)
	if status := tm.Ends(20 * time.Second); status != -1 {
		t.Fatalf("login was not killed: status %d\n%s", status, tm.Text())
	}
	tm.Restored()
	check := func(after string) {
		t.Helper()
		if out := m.must("login", "--json", "hermes"); !strings.Contains(out, `"done":true`) {
			t.Errorf("after %s: %s", after, out)
		}
		tm := walk("")
		finish(tm)
		tm.Shows("✓ Hermes Agent")
		wantExit(t, tm, 0)
		m.wantSound(after)
	}
	check("a login that was killed")

	tm = walk("")
	lose(0, false)
	finish(tm)
	tm.Shows("hint: ")
	wantExit(t, tm, 1)
	mend()
	check("a login that lost its connection")
}
