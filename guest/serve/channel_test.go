package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/guest"
	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/frame"
)

const mark = "[mark]"

// host is the host's end of a channel to a helper.
type host struct {
	t      *testing.T
	w      *frame.Writer
	r      *frame.Reader
	hangUp func()
	status chan int
}

// open starts a helper and reads its opening.
func open(t *testing.T) *host {
	t.Helper()
	stdin, in, err1 := os.Pipe()
	out, stdout, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	h := &host{t: t, w: frame.NewWriter(in), r: frame.NewReader(out), hangUp: func() { in.Close(); out.Close() }, status: make(chan int, 1)}
	t.Cleanup(h.hangUp)
	go func() {
		helper := Helper{Open: func(string) *guest.Guest { return blank(t) }, Root: true}
		h.status <- helper.run(context.Background(), []string{protocol.Channel, mark}, stdin, stdout, io.Discard)
		stdin.Close()
		stdout.Close()
	}()
	opening := make([]byte, len(frame.Opening(mark, protocol.Version)))
	if _, err := io.ReadFull(out, opening); err != nil || string(opening) != frame.Opening(mark, protocol.Version) {
		t.Fatalf("opening %q, %v", opening, err)
	}
	return h
}

func (h *host) ask(verb string, request any) {
	h.t.Helper()
	raw, err := json.Marshal(request)
	if err != nil {
		h.t.Fatal(err)
	}
	call, err := json.Marshal(protocol.Call{Verb: verb, Request: raw})
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.w.Write(frame.Request, call); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) exec(args ...string) {
	h.t.Helper()
	var c protocol.Command
	for _, a := range args {
		c.Args = append(c.Args, []byte(a))
	}
	h.ask(protocol.VerbExec, c)
}

// end reads up to the last frame. It returns that frame and the contents of the two streams.
func (h *host) end() (kind frame.Kind, payload []byte, stdout, stderr string) {
	h.t.Helper()
	var out, diag bytes.Buffer
	for {
		kind, payload, err := h.r.Next()
		if err != nil {
			h.t.Fatalf("the stream has no last frame: %v", err)
		}
		switch kind {
		case frame.Stdout:
			out.Write(payload)
		case frame.Stderr:
			diag.Write(payload)
		case frame.Alive, frame.Event:
		default:
			return kind, payload, out.String(), diag.String()
		}
	}
}

func TestChannelRunsACommand(t *testing.T) {
	for _, c := range []struct {
		name           string
		args           []string
		stdin          string
		status         byte
		stdout, stderr string
	}{
		{"arguments", []string{"printf", "%s|", "", "a b", "\xff'\"$x\n", "--"}, "", 0, "|a b|\xff'\"$x\n|--|", ""},
		{"streams", []string{"sh", "-c", "cat; echo err >&2; exit 255"}, "some\x00bytes", 255, "some\x00bytes", "err\n"},
		{"a signal", []string{"sh", "-c", "kill -TERM $$"}, "", 128 + 15, "", ""},
		{"not found", []string{"no-such-program"}, "", 127, "", "no-such-program: command not found\n"},
		{"not runnable", []string{"/etc/passwd"}, "", 126, "", "/etc/passwd: fork/exec /etc/passwd: permission denied\n"},
		{"no command", nil, "", 127, "", "no command to run\n"},
		{"a closed pipe ends its writer", []string{"sh", "-c", "yes | head -n 1"}, "", 0, "y\n", ""},
		{"background processes are waited for", []string{"sh", "-c", "(sleep 0.2; echo late) & exit 3"}, "", 3, "late\n", ""},
	} {
		h := open(t)
		h.exec(c.args...)
		h.w.Stream(frame.Stdin).Write([]byte(c.stdin))
		h.w.Write(frame.End, nil)
		kind, payload, stdout, stderr := h.end()
		if kind != frame.Exit || len(payload) != 1 || payload[0] != c.status || stdout != c.stdout || stderr != c.stderr {
			t.Errorf("%s: %q %v, stdout %q, stderr %q", c.name, byte(kind), payload, stdout, stderr)
		}
		if status := <-h.status; status != 0 {
			t.Errorf("%s: the helper ended with %d", c.name, status)
		}
	}
}

func TestChannelAnswersVerbs(t *testing.T) {
	h := open(t)
	h.ask(protocol.VerbStatus, nil)
	kind, payload, _, _ := h.end()
	var s protocol.Status
	if err := protocol.Decode(payload, &s); kind != frame.Result || err != nil || s.Protocol != protocol.Version {
		t.Errorf("status: %q %s, %v", byte(kind), payload, err)
	}
	for verb, request := range map[string]any{
		"no-such-verb":         nil,
		protocol.VerbBootstrap: map[string]string{"unknown": "field"},
		protocol.VerbExec:      map[string]string{"unknown": "field"},
	} {
		h := open(t)
		h.ask(verb, request)
		kind, payload, _, _ := h.end()
		var e protocol.Error
		if err := protocol.Decode(payload, &e); kind != frame.Failure || err != nil || e.Code != "invalid_input" {
			t.Errorf("%s: %q %s, %v", verb, byte(kind), payload, err)
		}
	}
}

// If the host disconnects before its request is complete, nothing is run.
func TestChannelWithoutRequest(t *testing.T) {
	h := open(t)
	h.hangUp()
	if status := <-h.status; status != 1 {
		t.Errorf("status %d", status)
	}
	h = open(t)
	h.w.Write(frame.Stdin, []byte("x"))
	if kind, _, _, _ := h.end(); kind != frame.Failure {
		t.Errorf("bytes before a request: %q", byte(kind))
	}
}

// When the host disconnects, the command and the processes that it started end, even those that ignore a hang-up and
// those that a shell with job control put into process groups of their own.
func TestChannelEndsTheCommandWithTheHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: it looks into /proc")
	}
	t.Parallel()
	dir := t.TempDir()
	h := open(t)
	h.exec("bash", "-c", `trap '' HUP; echo $$ >"$1/a"; (trap '' HUP TERM; echo $BASHPID >"$1/b"; exec sleep 600) & set -m; sleep 600 & echo $! >"$1/c"; echo up; wait`, "bash", dir)
	if kind, payload, err := h.r.Next(); err != nil || kind != frame.Stdout || string(payload) != "up\n" {
		t.Fatalf("%q %q, %v", byte(kind), payload, err)
	}
	h.hangUp()
	if status := <-h.status; status != 1 {
		t.Errorf("status %d", status)
	}
	for _, name := range []string{"a", "b", "c"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(10 * time.Second)
		for gone := false; !gone; time.Sleep(10 * time.Millisecond) {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // a zombie has ended too
			gone = syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ")
			if time.Now().After(deadline) {
				t.Fatalf("%s, pid %d, still runs", name, pid)
			}
		}
	}
}
