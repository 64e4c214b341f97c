package ssh

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/frame"
)

type sent struct {
	kind    frame.Kind
	payload string
}

// answer returns a reader of the frames that a helper sends.
func answer(t testing.TB, frames ...sent) *frame.Reader {
	t.Helper()
	var wire bytes.Buffer
	w := frame.NewWriter(&wire)
	for _, f := range frames {
		if err := w.Write(f.kind, []byte(f.payload)); err != nil {
			t.Fatal(err)
		}
	}
	return frame.NewReader(&wire)
}

func TestReadAnswer(t *testing.T) {
	event := sent{frame.Event, `{"component":"node","phase":"stage","state":"done"}`}
	for _, c := range []struct {
		name   string
		frames []sent
		result string
		err    string // part of it
	}{
		{"a result", []sent{event, {frame.Alive, ""}, {frame.Result, `{"a":1}`}}, `{"a":1}`, ""},
		{"an error", []sent{event, {frame.Failure, `{"code":"health_failed","message":"no"}`}}, "", "no"},
		{"status 0", []sent{event, {frame.Exit, "\x00"}}, "", ""},
		{"status 255", []sent{event, {frame.Exit, "\xff"}}, "", "exit status 255"},
		{"nothing", nil, "", "cannot be read"},
		{"events alone", []sent{event}, "", "cannot be read"},
		{"a request, which only the host sends", []sent{event, {frame.Request, "{}"}}, "", "not expected"},
		{"an event of another version", []sent{{frame.Event, `{"more":1}`}}, "", "unknown field"},
		{"an error of another version", []sent{{frame.Failure, `{"more":1}`}}, "", "unknown field"},
		{"no status", []sent{{frame.Exit, ""}}, "", "cannot be read"},
	} {
		result, err := readAnswer(answer(t, c.frames...), streams{}, func(protocol.Event) {})
		if string(result) != c.result || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.name, result, err)
		}
	}
}

// stdout and stderr arrive complete, in order and separate.
func TestReadAnswerStreams(t *testing.T) {
	var out, diag strings.Builder
	_, err := readAnswer(answer(t, sent{frame.Stdout, "a"}, sent{frame.Stderr, "x"}, sent{frame.Stdout, "\x00b"}, sent{frame.Exit, "\x00"}), streams{out: &out, err: &diag}, nil)
	if err != nil || out.String() != "a\x00b" || diag.String() != "x" {
		t.Errorf("%q, %q, %v", out.String(), diag.String(), err)
	}
	_, err = readAnswer(answer(t, sent{frame.Stdout, "a"}, sent{frame.Exit, "\x00"}), streams{out: brokenWriter{}}, nil)
	if !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// Escape sequences in events and errors from the box are removed.
func TestAnswersAreSanitized(t *testing.T) {
	const hostile = "\x1b]52;c;eA==\a\x1b[31mno\u009b2J\u202e\r\u009b6n\u200f"
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var shown []string
	_, err := readAnswer(answer(t, sent{frame.Event, text(protocol.Event{Component: hostile, Line: hostile})},
		sent{frame.Failure, text(protocol.Error{Message: hostile, Hint: hostile, Output: hostile})}), streams{}, func(e protocol.Event) {
		shown = append(shown, e.Component, e.Line)
	})
	var reported *protocol.Error
	if !errors.As(err, &reported) {
		t.Fatal(err)
	}
	for _, text := range append(shown, reported.Message, reported.Hint, reported.Output) {
		if !strings.Contains(text, "no") || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("%q", text)
		}
	}
}

// FuzzReadAnswer checks that readAnswer returns for every input, and that a result is part of the input.
func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte("v\x00\x00\x00\x02{}r\x00\x00\x00\x02{}"))
	f.Add([]byte("o\x00\x00\x00\x01ax\x00\x00\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		result, err := readAnswer(frame.NewReader(bytes.NewReader(data)), streams{}, func(protocol.Event) {})
		if err == nil && !bytes.Contains(data, result) {
			t.Errorf("%q of %q", result, data)
		}
	})
}

// The answer to a request that was sent early counts, even if the helper exits before the answer is read.
func TestAnswerOfAHelperThatHasEnded(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ssh.config": "",
		"ssh":        "#!/bin/sh\nfor mark; do :; done\nprintf '%s*5;r\\000\\000\\000\\00242' \"$mark\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := &Client{Program: filepath.Join(dir, "ssh"), Dir: func(string) (string, error) { return dir, nil }}
	k, err := c.dial(t.Context(), "main", "helper status", func(mark string) string { return mark }, []byte("request"), nil)
	if err != nil {
		t.Fatal(err)
	}
	<-k.ended
	if answer, err := k.ask(nil, streams{}, nil); err != nil || string(answer) != "42" {
		t.Errorf("%q, %v", answer, err)
	}
}
