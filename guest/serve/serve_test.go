package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"hermes-box/guest"
	"hermes-box/guest/durable"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
	"hermes-box/internal/rehearsal/simulate"
)

// blank returns a guest that was never started.
func blank(t *testing.T) *guest.Guest {
	root := t.TempDir()
	return &guest.Guest{Tree: durable.Tree{Root: root}, Machine: simulate.Open(root)}
}

// call runs one verb as root, with files as its standard streams.
func call(t *testing.T, g *guest.Guest, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return callAs(t, true, g, stdin, args...)
}

func callAs(t *testing.T, root bool, g *guest.Guest, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	if g == nil {
		g = blank(t)
	}
	var files [3]*os.File
	for i := range files {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	if _, err := files[0].WriteString(stdin); err != nil {
		t.Fatal(err)
	}
	files[0].Seek(0, io.SeekStart)
	status = Helper{Open: func(string) *guest.Guest { return g }, Root: root}.run(t.Context(), args, files[0], files[1], files[2])
	text := func(f *os.File) string {
		data, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	return status, text(files[1]), text(files[2])
}

// last returns the last message of an answer.
func last(t *testing.T, stdout string) protocol.Message {
	t.Helper()
	var m protocol.Message
	sc := bufio.NewScanner(strings.NewReader(stdout))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if m.Result != nil || m.Error != nil {
			t.Fatalf("more after the end of the answer: %s", stdout)
		}
		m = protocol.Message{}
		if err := json.Unmarshal(sc.Bytes(), &m); err != nil {
			t.Fatalf("%q: %v", sc.Text(), err)
		}
	}
	return m
}

func TestHello(t *testing.T) {
	status, stdout, stderr := call(t, nil, "", "hello")
	var h protocol.Hello
	if err := json.Unmarshal(last(t, stdout).Result, &h); err != nil || status != 0 || stderr != "" {
		t.Fatalf("%d %q %q: %v", status, stdout, stderr, err)
	}
	if h.Protocol != protocol.Version || !strings.HasPrefix(h.Helper, "sha256:") {
		t.Errorf("%+v", h)
	}
}

func TestInvalidCalls(t *testing.T) {
	for _, args := range [][]string{{}, {"format"}, {"status", "now"}, {"--help"}} {
		if status, stdout, stderr := call(t, nil, "", args...); status != 2 || stdout != "" || stderr == "" {
			t.Errorf("%q: %d %q %q", args, status, stdout, stderr)
		}
	}
}

func TestNeedsRoot(t *testing.T) {
	for name := range verbs {
		if slices.Contains(protocol.Unprivileged, name) {
			continue
		}
		status, stdout, _ := callAs(t, false, nil, "{}", name)
		if m := last(t, stdout); status != 1 || m.Error == nil || m.Error.Code != "invalid_input" || !strings.Contains(m.Error.Message, "root") {
			t.Errorf("%s: %d %s", name, status, stdout)
		}
	}
	if status, stdout, _ := callAs(t, false, nil, "", protocol.VerbStatus); status != 0 || last(t, stdout).Result == nil {
		t.Errorf("status: %d %s", status, stdout)
	}
}

// Before the bootstrap, recover fails, so that no service runs: the recovery unit relies on the exit status.
func TestRefusesWithoutBox(t *testing.T) {
	for name, stdin := range map[string]string{protocol.VerbRecover: "", protocol.VerbApply: "{}"} {
		status, stdout, _ := call(t, nil, stdin, name)
		if m := last(t, stdout); status != 1 || m.Error == nil || m.Error.Code != "preflight_failed" {
			t.Errorf("%s: %d %s", name, status, stdout)
		}
	}
}

// broken is a machine that panics at each call.
type broken struct{ guest.Machine }

func TestPanicIsAnError(t *testing.T) {
	status, stdout, stderr := call(t, &guest.Guest{Tree: durable.Tree{Root: t.TempDir()}, Machine: broken{}}, "", "quiesce")
	m := last(t, stdout)
	if status != 1 || m.Error == nil || !strings.Contains(m.Error.Message, "panicked") || !strings.Contains(stderr, "goroutine") {
		t.Errorf("%d %s", status, stdout)
	}
}

func TestDecode(t *testing.T) {
	var ask protocol.LogRequest
	if err := decode(strings.NewReader(`{"source":"hermes","lines":5}`+"\n"), &ask); err != nil || ask.Lines != 5 {
		t.Errorf("%+v, %v", ask, err)
	}
	for _, text := range []string{"", "{", "[]", `{"source":1}`, `{"sauce":"x"}`, `{} {}`, `{}x`, `{"source":"` + strings.Repeat("x", maxRequest) + `"}`} {
		err := decode(strings.NewReader(text), new(protocol.LogRequest))
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != "invalid_input" {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"box":"main","ports":{"executor":1,"dashboard":2}}`)
	f.Add(`{"box":"main"}{}`)
	f.Fuzz(func(t *testing.T, text string) {
		var ask protocol.Bootstrap
		if decode(strings.NewReader(text), &ask) != nil {
			return
		}
		data, err := json.Marshal(ask)
		if err != nil {
			t.Fatal(err)
		}
		if err := decode(strings.NewReader(string(data)), new(protocol.Bootstrap)); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
	})
}

func TestProtocolError(t *testing.T) {
	exit := &machine.ExitError{Cmd: "tar", Status: 2, Output: "no space"}
	for name, c := range map[string]struct {
		err  error
		want protocol.Error
	}{
		"a protocol error": {&protocol.Error{Code: "busy", Message: "m", Hint: "h"}, protocol.Error{Code: "busy", Message: "m", Hint: "h"}},
		"wrapped":          {fmt.Errorf("apply: %w", &protocol.Error{Code: "busy", Message: "m"}), protocol.Error{Code: "busy", Message: "apply: m"}},
		"a program":        {fmt.Errorf("unpack: %w", exit), protocol.Error{Code: "external_failed", Message: "unpack: tar: exit status 2", Output: "no space"}},
		"cancelled":        {fmt.Errorf("x: %w", context.Canceled), protocol.Error{Code: "interrupted", Message: "interrupted"}},
		"any other":        {io.ErrShortWrite, protocol.Error{Code: "external_failed", Message: "short write"}},
	} {
		if got := protocolError(c.err); *got != c.want {
			t.Errorf("%s: %+v; want %+v", name, *got, c.want)
		}
	}
}

// A verb ends when the reader of its answer closes the pipe, even if the verb has nothing to write.
func TestVerbEndsWhenTheReaderCloses(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go untilClosed(w, cancel)
	if _, err := w.WriteString("written, not read\n"); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatal("the verb ended before its reader closed the pipe")
	}
	r.Close()
	<-ctx.Done()
}

func TestAnswerOrder(t *testing.T) {
	var out strings.Builder
	a := newLines(&out)
	a.event(protocol.Event{Phase: "mount", State: protocol.Started, Line: "a <b> & c"})
	if err := a.result(protocol.Quiesced{Stopped: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	want := `{"event":{"phase":"mount","state":"started","line":"a <b> & c"}}` + "\n" + `{"result":{"stopped":["x"]}}` + "\n"
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}
