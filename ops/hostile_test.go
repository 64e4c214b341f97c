package ops

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"unicode"

	"hermes-box/guest/protocol"
)

// What the box says may hold anything a program there has printed. None of it may steer the terminal it is shown on.
func TestWhatTheBoxSaysIsPlain(t *testing.T) {
	const hostile = `\u001b]52;c;eA==\u0007\u001b[31mno\u009b2J\u202e\r` + "\u009b6n\u200f"
	said := `{"event":{"component":"` + hostile + `","line":"` + hostile + `"}}` + "\n"
	var shown []string
	on := func(e protocol.Event) { shown = append(shown, e.Component, e.Line) }
	err := readAnswer(strings.NewReader(said+`{"error":{"code":"health_failed","message":"`+hostile+`","hint":"`+hostile+`","output":"`+hostile+`"}}`), nil, on)
	shown = append(shown, err.Error(), string(err.(interface{ Details() map[string]any }).Details()["output"].(string)))
	var st protocol.Status
	if err := readAnswer(strings.NewReader(`{"result":{"os":"`+hostile+`","components":[{"name":"`+hostile+`","detail":"`+hostile+`"}]}}`), &st, nil); err != nil {
		t.Fatal(err)
	}
	shown = append(shown, st.OS, st.Components[0].Name, st.Components[0].Detail)
	var stderr tail
	stderr.Write([]byte("\x1b[2Jssh says\u202e no\x07"))
	shown = append(shown, noHelper("status", err, stderr.String()).Error())
	for _, text := range shown {
		if !strings.Contains(text, "no") || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("%q", text)
		}
	}
}

// A line without end does not fill the memory.
func TestEndlessAnswerIsRefused(t *testing.T) {
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Skip(err)
	}
	defer zero.Close()
	if err := readAnswer(io.MultiReader(strings.NewReader(`{"result":"`), zero), nil, nil); !errors.Is(err, errEndless) {
		t.Error(err)
	}
}
