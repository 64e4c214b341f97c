//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
)

const guestAgent = "lima-guestagent.service"

// withoutGuestAgent stops Lima's guest agent in a running box, and then keeps it from starting at a boot. Without the
// agent Lima forwards no ports. In both cases status must report that, and the rest of the box must be usable.
func withoutGuestAgent(t *testing.T, l *lab) {
	l.inBox(t, "sudo", "systemctl", "stop", guestAgent)
	l.usableWithoutForwards(t)

	const never = "/etc/systemd/system/" + guestAgent + ".d/never.conf"
	l.inBox(t, "sudo", "sh", "-c", "mkdir -p $(dirname "+never+") && printf '[Unit]\\nConditionPathExists=/never\\n' > "+never)
	l.must(t, "stop")
	o := l.run(t, "", "start")
	t.Logf("start: status %d in %v\n%s%s", o.status, o.took, o.stdout, o.stderr)
	if out := l.run(t, "", "exec", "--", "systemctl", "is-active", guestAgent); strings.TrimSpace(out.stdout) != "inactive" {
		t.Fatalf("the guest agent: %+v", out)
	}
	l.usableWithoutForwards(t)

	l.inBox(t, "sudo", "sh", "-c", "rm "+never+" && systemctl daemon-reload && systemctl start "+guestAgent)
	deadline := time.Now().Add(3 * time.Minute)
	for { // Lima forwards the ports again once its agent answers
		var st ops.Status
		if l.json(t, &st, "status"); st.State == "running" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("with the guest agent back: %+v", st)
		}
		time.Sleep(2 * time.Second)
	}
	if resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", executorPort)); err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
}

// usableWithoutForwards checks that status reports the missing forwards, that exec, logs, login and ssh work, and that
// open fails.
func (l *lab) usableWithoutForwards(t *testing.T) {
	t.Helper()
	var st ops.Status
	l.json(t, &st, "status")
	if st.State != "degraded" || !st.Live || !strings.Contains(st.Cause, "forward") || strings.Contains(st.Cause, "\n") {
		t.Errorf("status: %s, live %v: %s", st.State, st.Live, st.Cause)
	}
	for _, c := range st.Components {
		if c.State != "healthy" && c.State != "setup-required" {
			t.Errorf("%s is %s, although it works", c.Name, c.State)
		}
	}
	text := l.must(t, "status")
	t.Log("\n" + text)
	if !strings.Contains(text, "forward") {
		t.Errorf("status does not report that the forwards are missing:\n%s", text)
	}
	if out := l.inBox(t, "echo", "works"); out != "works\n" {
		t.Errorf("exec: %q", out)
	}
	if out := l.must(t, "logs", "hermes", "-n", "5"); out == "" {
		t.Error("logs hermes prints nothing")
	}
	l.json(t, &struct{}{}, "login")
	term := l.attached(t)
	term.Hears("main")
	term.Type("\x02d")
	if status := term.Ends(time.Minute); status != 0 {
		t.Errorf("ssh ends with %d", status)
	}
	if o := l.run(t, "", "open", "executor", "--print"); o.status == 0 {
		t.Errorf("open prints a dead address: %s", o.stdout)
	}
}
