//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"hermes-box/ops"
)

const sentinel = "/data/home/agent/workspace/sentinel"

func restart(t *testing.T, l *lab) {
	word := strconv.FormatInt(time.Now().UnixNano(), 36)
	l.inBox(t, "sh", "-c", "printf %s "+word+" > "+sentinel)
	var before ops.Status
	l.json(t, &before, "status")
	for range 2 {
		l.must(t, "stop")
		var off ops.Status
		if l.json(t, &off, "status"); off.State != "stopped" || off.Live || off.Seen == nil || len(off.Components) != 6 {
			t.Errorf("status of a stopped box: %+v", off)
		}
		if o := l.run(t, "", "exec", "--", "true"); o.status != 1 || !strings.Contains(o.stderr, "hermes-box start") {
			t.Errorf("exec in a stopped box: %+v", o)
		}
		var again ops.Run
		if l.json(t, &again, "stop"); !again.Already {
			t.Error("stop of a stopped box did something")
		}
		var run ops.Run
		l.json(t, &run, "start")
		if len(run.Drift) != 0 {
			t.Errorf("drift: %+v", run.Drift)
		}
		if got := l.inBox(t, "cat", sentinel); got != word {
			t.Fatalf("the sentinel is %q, was %q", got, word)
		}
	}
	var after ops.Status
	l.json(t, &after, "status")
	if before.Guest.DataUUID != after.Guest.DataUUID {
		t.Errorf("the data disk was %s and is %s", before.Guest.DataUUID, after.Guest.DataUUID)
	}
}

// killVM ends the VM as a power cut would.
func killVM(t *testing.T, l *lab) {
	l.inBox(t, "sh", "-c", "printf alive > "+sentinel+" && sync "+sentinel)
	data, err := os.ReadFile(filepath.Join(l.limaHome(), "e2e", "qemu.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(2 * time.Minute)
	for { // until Lima has seen it: what it then calls the box is for start to deal with
		var st ops.Status
		if l.json(t, &st, "status"); st.State != "running" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the box is still called running")
		}
		time.Sleep(time.Second)
	}
	l.must(t, "start")
	if got := l.inBox(t, "cat", sentinel); got != "alive" {
		t.Errorf("the sentinel is %q", got)
	}
}

// attach drives `hermes-box ssh` on a pty, twice.
func attach(t *testing.T, l *lab) {
	l.inBox(t, "rm", "-f", "/workspace/where")
	first := l.terminal(t)
	first.wait(t, "main")
	first.typed(t, "pwd > where; echo $TMUX > tmux; HB_MARK=kept\r")
	l.until(t, "the shell in tmux has run", "test", "-s", "/workspace/tmux")
	if got := strings.TrimSpace(l.inBox(t, "cat", "/workspace/where")); got != "/workspace" && got != "/home/agent/workspace" {
		t.Errorf("ssh lands in %q", got)
	}
	if got := strings.TrimSpace(l.inBox(t, "tmux", "display-message", "-p", "-t", "main", "#S")); got != "main" {
		t.Errorf("the session is %q", got)
	}
	first.typed(t, "\x02d") // detach
	if status := first.end(t); status != 0 {
		t.Errorf("detaching ends with %d", status)
	}
	second := l.terminal(t)
	second.wait(t, "main")
	second.typed(t, "echo $HB_MARK > mark\r")
	l.until(t, "the same shell is back", "grep", "-q", "kept", "/workspace/mark")
	second.typed(t, "\x02d")
	second.end(t)
}

// until waits for a command in the box to succeed.
func (l *lab) until(t *testing.T, what string, args ...string) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for l.run(t, "", append([]string{"exec", "--"}, args...)...).status != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(time.Second)
	}
}

// terminal is hermes-box ssh on a pty.
type terminal struct {
	pty  *os.File
	read chan string // all output so far, each time some comes
	done chan error
}

func (l *lab) terminal(t *testing.T) *terminal {
	t.Helper()
	c := l.cmd(t, l.root, "ssh")
	c.Env = append(c.Env, "TERM=xterm-256color")
	f, err := pty.StartWithSize(c, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	term := &terminal{pty: f, read: make(chan string, 1), done: make(chan error, 1)}
	go func() {
		var all []byte
		buf := make([]byte, 32<<10)
		for {
			n, err := f.Read(buf)
			all = append(all, buf[:n]...)
			select {
			case <-term.read:
			default:
			}
			term.read <- string(all)
			if err != nil {
				term.done <- c.Wait()
				return
			}
		}
	}()
	return term
}

func (term *terminal) wait(t *testing.T, text string) {
	t.Helper()
	bound := time.After(2 * time.Minute)
	seen := ""
	for !strings.Contains(seen, text) {
		select {
		case seen = <-term.read:
		case <-bound:
			t.Fatalf("the terminal never showed %q: %q", text, seen)
		}
	}
}

func (term *terminal) typed(t *testing.T, keys string) {
	t.Helper()
	if _, err := term.pty.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// end waits for hermes-box to end and gives its status.
func (term *terminal) end(t *testing.T) int {
	t.Helper()
	select {
	case err := <-term.done:
		if err == nil {
			return 0
		}
		t.Log(err)
		return 1
	case <-time.After(time.Minute):
		t.Fatal("hermes-box ssh does not end")
		return -1
	}
}
