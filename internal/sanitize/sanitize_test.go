package sanitize

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ what, in, want string }{
		{"plain text", "Grüße, 世界 ✓\n\tand more", "Grüße, 世界 ✓\n\tand more"},
		{"colour", "\x1b[31mred\x1b[0m", "red"},
		{"a write to the clipboard", "a\x1b]52;c;cm0gLXJmIC8=\x07b", "ab"},
		{"a link", "\x1b]8;;https://example.com\x1b\\here\x1b]8;;\x1b\\", "here"},
		{"queries to the terminal", "\x1b[c\x1b[6n\x1b]11;?\x07\x1bP+q544e\x1b\\.", "."},
		{"C1 controls", "\u009b31m\u0090x\u009c\u0085.", "31mx."},
		{"a sequence that never ends", "before\x1b]0;title", "before"},
		{"a bare escape", "\x1b", ""},
		{"overwriting", "good\rbad\b\b\bx\x7f", "goodbadx"},
		{"characters that change the direction", "a\u202eb\u2066c\u061cd\u200f", "abcd"},
		{"zero-width characters", "a\u200bb\u2060c\ufeffd\u00ade\u034ff\ufe0fg\u3164\U000e0041", "abcdefg"},
		{"line and paragraph separators", "a\u2028b\u2029c", "abc"},
		{"invalid UTF-8", "a\xff\xc3b", "a\ufffdb"},
	} {
		if got := Text(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestValue(t *testing.T) {
	type inner struct{ Name string }
	v := struct {
		Text   string
		Inner  *inner
		None   *inner
		List   []inner
		Map    map[string]string
		Any    any
		JSON   map[string]any
		Time   time.Time
		Bytes  []byte
		Number int
		hidden string
	}{"\x1b[mt", &inner{"\aa"}, nil, []inner{{"\x07b"}}, map[string]string{"k": "\x1b[2Jv"}, &inner{"\rc"}, map[string]any{"a": []any{"\vd", 1.0, nil}}, time.Now(), []byte("\x1b"), 7, "\x1b"}
	Value(&v)
	if v.Text != "t" || v.Inner.Name != "a" || v.List[0].Name != "b" || v.Map["k"] != "v" || v.Any.(*inner).Name != "c" || v.JSON["a"].([]any)[0] != "d" ||
		!reflect.DeepEqual(v.Bytes, []byte("\x1b")) || v.Number != 7 || v.hidden != "\x1b" {
		t.Errorf("%+v", v)
	}
}

func FuzzText(f *testing.F) {
	f.Add("\x1b]8;;x\x1b\\y\u009b31m\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
		}) {
			t.Errorf("%q becomes %q", s, got)
		}
		if again := Text(got); again != got {
			t.Errorf("Text(%q) = %q, but Text of that is %q", s, got, again)
		}
	})
}
