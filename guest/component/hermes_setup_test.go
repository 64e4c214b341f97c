package component

import "testing"

func TestModelIn(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "model: x\n": "x", "model: ''\n": "", "model:\n  default: x\n  provider: p\n": "x", "model: {name: y}\n": "y", "model:\n": "",
		"model: [": "", "model: {default: ''}\n": "", "agent: {model: x}\n": "", "model: [a]\n": "", "model: {default: 3}": "",
	} {
		if got := modelIn([]byte(text)); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}
