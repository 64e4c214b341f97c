package login

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

var wanted = executorServer("http://127.0.0.1:4788/mcp", []string{"execute", "resume"})

const entry = `  executor:
    url: http://127.0.0.1:4788/mcp
    headers:
      Authorization: Bearer ${MCP_EXECUTOR_API_KEY}
    tools:
      include:
        - execute
        - resume
    enabled: true
`

func TestSetServer(t *testing.T) {
	inner := func(indent string, more ...string) string {
		var out strings.Builder
		for line := range strings.Lines(entry) {
			out.WriteString(indent + strings.TrimPrefix(line, "  "))
		}
		return out.String() + strings.Join(more, "")
	}
	for name, c := range map[string]struct{ text, want string }{
		"no file":       {"", "mcp_servers:\n" + entry},
		"comments only": {"# mine\n", "# mine\nmcp_servers:\n" + entry},
		"other settings": {"model:\n  default: x # good\n\n# the end\n",
			"model:\n  default: x # good\n\n# the end\nmcp_servers:\n" + entry},
		"no final newline":    {"model: x", "model: x\nmcp_servers:\n" + entry},
		"no servers":          {"mcp_servers:\nmodel: x\n", "mcp_servers:\n" + entry + "model: x\n"},
		"null":                {"mcp_servers: null # none\nmodel: x\n", "mcp_servers: # none\n" + entry + "model: x\n"},
		"empty braces":        {"a: 1\nmcp_servers: {}\nmodel: x\n", "a: 1\nmcp_servers:\n" + entry + "model: x\n"},
		"after another entry": {"mcp_servers:\n  # files\n  files: {command: fs}\n\n# models\nmodel: x\n", "mcp_servers:\n  # files\n  files: {command: fs}\n" + entry + "\n# models\nmodel: x\n"},
		"other indent":        {"mcp_servers:\n    files:\n        command: fs\n", "mcp_servers:\n    files:\n        command: fs\n" + inner("    ")},
		"quoted keys": {"\"mcp_servers\":\n  'executor': {url: old}\nmodel: x\n",
			"\"mcp_servers\":\n" + entry + "model: x\n"},
		"in place": {"mcp_servers:\n  a: {command: b}\n  executor:\n    url: http://other\n    headers:\n      Authorization: Bearer secret\n  # z\n  z: {command: y}\n",
			"mcp_servers:\n  a: {command: b}\n" + entry + "  # z\n  z: {command: y}\n"},
		"disabled": {"mcp_servers:\n" + strings.Replace(entry, "enabled: true", "enabled: false", 1), "mcp_servers:\n" + entry},
		"another transport": {"mcp_servers:\n  executor:\n    command: bash\n    args: [-c, evil]\n    env: {A: b}\n",
			"mcp_servers:\n" + entry},
		"block text above": {"note: |\n  mcp_servers:\n    executor: no\nmcp_servers:\n", "note: |\n  mcp_servers:\n    executor: no\nmcp_servers:\n" + entry},
		"up to date":       {"# mine\nmcp_servers: # here\n" + entry + "# end", "# mine\nmcp_servers: # here\n" + entry + "# end"},
		"up to date, in braces": {`mcp_servers: {executor: {url: "http://127.0.0.1:4788/mcp", headers: {Authorization: "Bearer ${MCP_EXECUTOR_API_KEY}"}, tools: {include: [execute, resume]}, enabled: true}}`,
			`mcp_servers: {executor: {url: "http://127.0.0.1:4788/mcp", headers: {Authorization: "Bearer ${MCP_EXECUTOR_API_KEY}"}, tools: {include: [execute, resume]}, enabled: true}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := setServer([]byte(c.text), "executor", wanted)
			if err != nil || string(got) != c.want {
				t.Fatalf("%v\n%s\nwant\n%s", err, got, c.want)
			}
			again, err := setServer(got, "executor", wanted)
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time changes it: %v\n%s", err, again)
			}
		})
	}
}

// Keys that the user has added to the entry stay, except tools.exclude.
func TestSetServerKeepsKeys(t *testing.T) {
	text := "mcp_servers:\n  executor:\n    timeout: 600 # slow\n    headers: {X-Mine: a}\n    tools: {exclude: [x], prompts: false}\n"
	got, err := setServer([]byte(text), "executor", wanted)
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Servers map[string]map[string]any `yaml:"mcp_servers"`
	}
	if err := yaml.Unmarshal(got, &c); err != nil {
		t.Fatal(err)
	}
	e := c.Servers["executor"]
	headers, tools := e["headers"].(map[string]any), e["tools"].(map[string]any)
	if e["timeout"] != 600 || headers["X-Mine"] != "a" || headers["Authorization"] == nil || tools["prompts"] != false || tools["exclude"] != nil ||
		!strings.Contains(string(got), "# slow") {
		t.Errorf("%s", got)
	}
}

func TestSetServerRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"not YAML":                 "a: [",
		"a duplicate key":          "a: 1\na: 2\n",
		"a list":                   "- a\n",
		"servers in braces":        "mcp_servers: {a: {command: b}}\n",
		"all in braces":            "{model: x}\n",
		"two documents":            "a: 1\n---\nb: 2\n",
		"an end marker":            "a: 1\n...\n",
		"an anchor on the servers": "mcp_servers: &m\n  a: {command: b}\n",
	} {
		if got, err := setServer([]byte(text), "executor", wanted); err == nil {
			t.Errorf("%s becomes %q", name, got)
		}
	}
}

// A file is either refused, or edited so that it has the entry. A second edit changes nothing.
func FuzzSetServer(f *testing.F) {
	f.Add("mcp_servers:\n  a:\n    command: b\n\n  # c\nmodel: |\n  x\n")
	f.Add("mcp_servers:\n- a\n")
	f.Add("? a\n: b\nmcp_servers: ~\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := setServer([]byte(text), "executor", wanted)
		if err != nil {
			return
		}
		var c struct {
			Servers map[string]yaml.Node `yaml:"mcp_servers"`
		}
		if err := yaml.Unmarshal(got, &c); err != nil {
			t.Fatalf("%q becomes %q: %v", text, got, err)
		}
		var e mcpServer
		node := c.Servers["executor"]
		if err := node.Decode(&e); err != nil || e.URL != wanted.URL || !e.Enabled || len(e.Tools.Include) != 2 {
			t.Fatalf("%q becomes %q: %+v, %v", text, got, e, err)
		}
		if again, err := setServer(got, "executor", wanted); err != nil || string(again) != string(got) {
			t.Fatalf("%q becomes %q, then %q: %v", text, got, again, err)
		}
	})
}
