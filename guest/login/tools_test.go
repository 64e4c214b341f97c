package login

import (
	"slices"
	"strings"
	"testing"
)

func TestToolsIn(t *testing.T) {
	for name, c := range map[string]struct{ text, tools, problem string }{
		"two": {"\n  Testing 'executor'...\n  Transport: HTTP → http://127.0.0.1:1/mcp\n    Authorization: Bear***dab5\n  ✓ Connected (218ms)\n  ✓ Tools discovered: 2\n\n" +
			"    resume                               Resume a paused execution\n    execute                              Execute TypeScript...\n\n", "execute resume", ""},
		"none":         {"  ✓ Connected (2ms)\n  ✓ Tools discovered: 0\n", "", ""},
		"refused":      {"  Testing 'executor'...\n  ✗ Connection failed (3ms): Client error '401 Unauthorized'\nFor more: ...\n", "", "Connection failed (3ms): Client error '401 Unauthorized'"},
		"unknown":      {"  ✗ Server 'executor' not found in config.\n", "", "Server 'executor' not found in config."},
		"no output":    {"", "", "it lists no tools"},
		"other output": {"Hermes Agent v0.19.0\n", "", "it lists no tools"},
	} {
		tools, problem := toolsIn(c.text)
		if strings.Join(tools, " ") != c.tools || problem != c.problem {
			t.Errorf("%s: %v, %q", name, tools, problem)
		}
	}
}

func FuzzToolsIn(f *testing.F) {
	f.Add("  ✓ Tools discovered: 1\n\n    execute   a\n")
	f.Add("  ✗ no\n")
	f.Fuzz(func(t *testing.T, text string) {
		names, problem := toolsIn(text)
		if len(names) > 0 && problem != "" || !slices.IsSorted(names) {
			t.Fatalf("%q: %q, %q", text, names, problem)
		}
		for _, name := range names {
			if name == "" || !strings.Contains(text, name) {
				t.Fatalf("%q: %q", text, names)
			}
		}
	})
}
