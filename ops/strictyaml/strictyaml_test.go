package strictyaml

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hermes-box/ops/fault"
)

// decode reads a mapping with a string, a number, a mapping and a list, all optional.
func decode(text string) error {
	return Decode("f.yaml", []byte(text), func(m *Map) {
		if m.Has("word") {
			m.String("word", "a short word", func(s string) bool { return len(s) < 6 })
		}
		if m.Has("number") {
			m.Int("number", 1, 9)
		}
		if m.Has("map") {
			m.Map("map", func(m *Map) { m.String("inner", "text", nil) })
		}
		if m.Has("list") {
			m.List("list", func(m *Map) { m.Int("n", 0, 1) })
		}
	})
}

func TestProblems(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown", "word: a\nwrod: b\n", `f.yaml:2: wrod: found an unknown key, did you mean word?; accepted: word, number, map, list`},
		{"unknown inside", "map: {inner: x, outer: y}\n", `f.yaml:1: map.outer: found an unknown key; accepted: inner`},
		{"duplicate", "word: a\nnumber: 1\nword: b\n", `f.yaml:3: word: found a repeated key (first on line 1); accepted: each key once`},
		{"duplicate deep", "list:\n  - n: 0\n    n: 1\n", `f.yaml:3: list[0].n: found a repeated key (first on line 2); accepted: each key once`},
		{"two documents", "word: a\n---\nword: b\n", `f.yaml:2: found a second document; accepted: one document`},
		{"empty", "", `f.yaml:1: found an empty file; accepted: a mapping of keys to values`},
		{"comment alone", "# nothing\n", `f.yaml:1: found an empty file; accepted: a mapping of keys to values`},
		{"scalar", "hello\n", `f.yaml:1: found "hello"; accepted: a mapping of keys to values`},
		{"list at top", "- a\n", `f.yaml:1: found a list; accepted: a mapping of keys to values`},
		{"null at top", "---\n", `f.yaml:2: found nothing; accepted: a mapping of keys to values`},
		{"bom", "\xef\xbb\xbfword: a\n", `f.yaml:1: found a byte order mark; accepted: UTF-8 without one`},
		{"utf-16", "\xff\xfew\x00", `f.yaml:1: found bytes that are not UTF-8; accepted: UTF-8`},
		{"latin-1", "word: a\nmap: {inner: \xe9}\n", `f.yaml:2: found bytes that are not UTF-8; accepted: UTF-8`},
		{"tab", "map:\n\tinner: x\n", `f.yaml:2: found a tab; accepted: spaces`},
		{"anchor", "word: &a x\n", `f.yaml:1: word: found the anchor &a; accepted: a value without one`},
		{"alias to nothing", "word: *m\n", `found text that is not YAML (unknown anchor 'm' referenced); accepted: YAML`},
		{"anchor on key", "&a word: x\n", `f.yaml:1: found a key that is "word"; accepted: a plain word as key`},
		{"merge", "word: a\n<<: {number: 1}\n", `f.yaml:2: <<: found an unknown key`},
		{"tag", "word: !!str 1\n", `f.yaml:1: word: found the tag !!str; accepted: a value without one`},
		{"complex key", "? [a]\n: b\n", `f.yaml:1: found a key that is a list; accepted: a plain word as key`},
		{"syntax", "word: a\nmap: {inner\n", `accepted: YAML`},
		{"string from number", "word: 3.10\n", `f.yaml:1: word: found the number 3.10; accepted: "3.10", in quotes`},
		{"string from bool", "word: true\n", `f.yaml:1: word: found the truth value true; accepted: "true", in quotes`},
		{"string from date", "word: 2026-01-02\n", `f.yaml:1: word: found the date 2026-01-02; accepted: a short word`},
		{"string from nothing", "word:\n", `f.yaml:1: word: found nothing; accepted: a short word`},
		{"string from list", "word: []\n", `f.yaml:1: word: found a list; accepted: a short word`},
		{"string refused", "word: lengthy\n", `f.yaml:1: word: found "lengthy"; accepted: a short word`},
		{"long string is cut", "word: " + strings.Repeat("x", 500) + "\n", strings.Repeat("x", 80) + `..."; accepted`},
		{"number from string", "number: \"1\"\n", `f.yaml:1: number: found "1"; accepted: a whole number from 1 to 9`},
		{"number from float", "number: 1.0\n", `found the number 1.0`},
		{"number octal", "number: 01\n", `found the number 01`},
		{"number hex", "number: 0x1\n", `found the number 0x1`},
		{"number separated", "number: 1_0\n", `found the number 1_0`},
		{"number signed", "number: +1\n", `found the number +1`},
		{"number out of range", "number: 10\n", `f.yaml:1: number: found the number 10; accepted: a whole number from 1 to 9`},
		{"number too large", "number: 99999999999999999999\n", `found the number 99999999999999999999`},
		{"mapping from string", "map: x\n", `f.yaml:1: map: found "x"; accepted: a mapping`},
		{"list from mapping", "list: {n: 1}\n", `f.yaml:1: list: found a mapping; accepted: a list of mappings`},
		{"list of words", "list:\n  - n: 0\n  - x\n", `f.yaml:3: list[1]: found "x"; accepted: a mapping`},
		{"missing", "word: a\nmap: {}\n", `f.yaml:2: map.inner: found no such key; accepted: text`},
		{"control character", "word: \"a\x01\"\n", `f.yaml:1: found the control character U+0001; accepted: text without control characters`},
		{"nul on a later line", "word: a\n# why\x00\n", `f.yaml:2: found the control character U+0000; accepted`},
		{"escape in a value", "word: a\nnumber: 1\nmap: {inner: \"\x1b[31m\"}\n", `f.yaml:3: found the control character U+001B; accepted`},
		{"c1", "word: a\r\nmap: {inner: \u009b}\n", `f.yaml:2: found the control character U+009B; accepted`},
		{"carriage return", "word: a\rnumber: 1\n", `f.yaml:1: found the control character U+000D; accepted`},
		{"line separator", "word: a\n# x\u2028number: 1\n", `f.yaml:2: found the control character U+2028; accepted`},
		{"direction", "word: a\n# \u202e\n", `f.yaml:2: found the control character U+202E; accepted`},
		{"nested", "word: " + strings.Repeat("[", 30) + strings.Repeat("]", 30) + "\n", `f.yaml:1: found values nested more than 20 deep; accepted: less`},
		{"too large", "# " + strings.Repeat("x", MaxSize), `accepted: at most 1048576 bytes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := decode(c.text)
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one problem: %s", err)
			}
			if fault.CodeOf(err) != fault.InvalidInput || fault.HintOf(err) == "" {
				t.Errorf("code %s, hint %q", fault.CodeOf(err), fault.HintOf(err))
			}
		})
	}
}

func TestAccepts(t *testing.T) {
	for _, text := range []string{
		"word: a\n",
		"{}\n",
		"---\nword: a\n...\n",
		"# why\nword: 'true' # not a truth value\r\nnumber: 9\r\n",
		"map: {inner: \"\"}\nlist: []\n",
		"\"word\": a\n",
	} {
		if err := decode(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAlias(t *testing.T) {
	err := decode("map: &m {inner: x}\nword: *m\n")
	for _, want := range []string{"f.yaml:1: map: found the anchor &m; accepted: a value without one", "f.yaml:2: word: found the alias *m; accepted: the value itself"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestAllAtOnceInOrder(t *testing.T) {
	err := decode("list:\n  - n: 7\nextra: 1\nword: lengthy\nnumber: 0\n")
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	var lines []int
	for _, p := range e.Problems {
		lines = append(lines, p.Line)
	}
	if fmt.Sprint(lines) != "[2 3 4 5]" {
		t.Errorf("lines %v in\n%v", lines, err)
	}
	if n := strings.Count(err.Error(), "\n"); n != 3 {
		t.Errorf("%d line breaks in\n%v", n, err)
	}
	if !strings.Contains(fault.HintOf(err), "line 2 of f.yaml") {
		t.Errorf("hint %q", fault.HintOf(err))
	}
}

func TestManyProblemsAreCounted(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	err := decode(b.String())
	if n := strings.Count(err.Error(), "\n"); n != shown || !strings.HasSuffix(err.Error(), "f.yaml: and 30 more") {
		t.Errorf("%d line breaks in\n%v", n, err)
	}
	if p := fault.DetailsOf(err)["problems"].([]Problem); len(p) != 50 {
		t.Errorf("%d problems in the details", len(p))
	}
}

// Many unknown keys do not take quadratic time.
func TestManyUnknownKeysAreQuick(t *testing.T) {
	var b strings.Builder
	const n = 90000
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	begun := time.Now()
	err := decode(b.String())
	if took := time.Since(begun); took > time.Minute { // about half a second, more under the race detector
		t.Errorf("took %v", took)
	}
	if e, ok := errors.AsType[*Error](err); !ok || len(e.Problems) != kept || e.More != n-kept || !strings.HasSuffix(err.Error(), fmt.Sprintf("and %d more", n-shown)) {
		t.Errorf("%.300s", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"word: a\n", "map: {inner: x}\nlist: [{n: 1}]", "a: &b [*b]", "? {a: b}\n: c", "--- |\n x\n...\n--- y", "\"\\x00\": 1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := decode(string(data))
		if err == nil {
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || len(e.Problems) == 0 {
			t.Fatalf("%#v", err)
		}
		lines := 2 + strings.Count(string(data), "\n")
		for _, other := range []string{"\r", "\u0085", "\u2028", "\u2029"} { // line breaks to YAML
			lines += strings.Count(string(data), other)
		}
		for _, p := range e.Problems {
			if p.Line < 1 || p.Found == "" || p.Accepted == "" || strings.ContainsAny(p.Found+p.Key, "\n\r\x1b") {
				t.Errorf("%+v", p)
			}
			if p.Line > lines {
				t.Errorf("line %d of %d: %+v", p.Line, lines, p)
			}
		}
	})
}
