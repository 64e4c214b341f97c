package login

import (
	"strings"
	"testing"
)

func TestSetVariable(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no file":             {"", "T=new\n"},
		"after others":        {"A=1\n# note\n", "A=1\n# note\nT=new\n"},
		"no final newline":    {"A=1", "A=1\nT=new\n"},
		"in place":            {"A=1\nT=old\nB=2\n", "A=1\nT=new\nB=2\n"},
		"exported":            {"export T='old' \n", "export T=new\n"},
		"spaces":              {"  T = old\n", "  T =new\n"},
		"CRLF":                {"A=1\r\nT=old\r\n", "A=1\r\nT=new\r\n"},
		"assigned twice":      {"T=a\nT=b\n", "T=new\nT=new\n"},
		"part of other names": {"MY_T=a\nT2=b\n", "MY_T=a\nT2=b\nT=new\n"},
		"a comment":           {"# T=old\n", "# T=old\nT=new\n"},
		"dollar signs":        {"T=$1${1}\n", "T=new\n"},
	} {
		got := setVariable(c.text, "T", "new")
		if got != c.want {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
		if v := variableIn(got, "T"); v != "new" {
			t.Errorf("%s: reads back as %q", name, v)
		}
		if again := setVariable(got, "T", "new"); again != got {
			t.Errorf("%s: a second time changes it: %q", name, again)
		}
	}
}

func TestVariableIn(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "T=": "", "T=a": "a", "T=a\nT=b\n": "b", "T=\"a b\"\n": "a b", "export T='a'\r\n": "a", "#T=a": "", "AT=a": "", "T=\"": "\"",
	} {
		if got := variableIn(text, "T"); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}

func FuzzSetVariable(f *testing.F) {
	f.Add("A=1\nexport T='x'\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := setVariable(text, "T", "new")
		if variableIn(got, "T") != "new" {
			t.Fatalf("%q becomes %q", text, got)
		}
		// All lines without the variable are there, in order.
		at := got
		for line := range strings.Lines(text) {
			if assignment("T").MatchString(line) {
				continue
			}
			_, rest, ok := strings.Cut(at, line)
			if !ok {
				t.Fatalf("%q lost %q: %q", text, line, got)
			}
			at = rest
		}
	})
}
