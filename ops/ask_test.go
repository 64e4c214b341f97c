package ops

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"hermes-box/guest/protocol"
)

func TestReadAnswer(t *testing.T) {
	const event = `{"event":{"component":"node","phase":"stage","state":"done"}}` + "\n"
	for _, c := range []struct{ name, in, err string }{
		{"result", event + `{"result":{"stopped":["a"]}}` + "\n", ""},
		{"result without a newline", event + `{"result":{"stopped":["a"]}}`, ""},
		{"error", event + `{"error":{"code":"health_failed","message":"no","component":"hermes","phase":"smoke"}}` + "\n", "hermes: smoke: no"},
		{"error that says where itself", event + `{"error":{"code":"health_failed","message":"hermes: smoke: no","component":"hermes","phase":"smoke"}}` + "\n", "hermes: smoke: no"},
		{"nothing", "", "no answer"},
		{"events alone", event, "no answer"},
		{"noise", "motd\n", "the answer of the helper"},
		{"a field of another version", `{"result":{},"more":1}` + "\n", "the answer of the helper"},
		{"a result with a field of another version", `{"result":{"stopped":[],"more":1}}` + "\n", "the answer of the helper"},
		{"a result of another version", `{"result":{"protocol":1,"more":1}}` + "\n", "another version's helper"},
		{"half a line", event + `{"resu`, "no answer"},
	} {
		var q protocol.Quiesced
		var events int
		err := readAnswer(bytes.NewReader([]byte(c.in)), &q, func(protocol.Event) { events++ })
		switch {
		case c.err == "" && (err != nil || len(q.Stopped) != 1 || events != 1):
			t.Errorf("%s: %v, %+v, %d events", c.name, err, q, events)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		case c.err != "" && strings.Count(err.Error(), "smoke") > 1:
			t.Errorf("%s: it says twice where: %v", c.name, err)
		}
	}
}

func TestNoHelperEndsWithWhatWasSaid(t *testing.T) {
	for stderr, want := range map[string]string{"": "status in the box: refused", "\r\n": "status in the box: refused", "no\r\n": "status in the box: refused: no"} {
		if err := noHelper("status", errors.New("refused"), stderr); err.Error() != want {
			t.Errorf("%q: %q", stderr, err)
		}
	}
}

func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte(`{"result":{}}`))
	f.Add([]byte(`{"error":{"code":"","message":""}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		_ = readAnswer(bytes.NewReader(data), &v, func(protocol.Event) {})
	})
}
