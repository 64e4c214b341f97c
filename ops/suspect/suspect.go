// Package suspect finds MCP servers that look like an attack in the settings of agents. Malware that reaches an agent
// may add a server whose command is a shell, so that it runs again whenever the agent starts.
//
// It reads settings only: programs and scripts that a server names are not looked at. A clean result is no proof.
package suspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"gopkg.in/yaml.v3"
)

// Files are files with settings, by their paths.
type Files map[string][]byte

// MaxSize is the size in bytes of the largest file that a caller needs to read in full. Of a larger
// file the caller may read only the beginning: Find then usually reports that the file cannot be parsed.
const MaxSize = 16 << 20

// Entry is a suspicious server, or a file that could not be checked. It holds no argument of the command, since
// arguments may be secret.
type Entry struct {
	Path   string   `json:"path"`
	Server string   `json:"server,omitempty"` // empty: the whole file
	Why    []string `json:"why"`
}

// String returns a text for people: `mcp server "x" in home/agent/.claude.json: its command is a shell`.
func (e Entry) String() string {
	if e.Server == "" {
		return fmt.Sprintf("%s: %s", e.Path, strings.Join(e.Why, ", "))
	}
	return fmt.Sprintf("mcp server %q in %s: %s", e.Server, e.Path, strings.Join(e.Why, ", "))
}

// Is reports whether a file has settings that Find understands: of Hermes, Claude Code, Codex, or a project's
// .mcp.json.
func Is(file string) bool { return parserOf(file) != nil }

// parser returns the servers in a file by name.
type parser func([]byte) (map[string]any, error)

func parserOf(file string) parser {
	switch dir, name := path.Base(path.Dir(file)), path.Base(file); {
	case name == "config.yaml" && dir == ".hermes":
		return hermes
	case name == ".claude.json" || name == ".mcp.json":
		return claude
	case name == "config.toml" && dir == ".codex":
		return codex
	}
	return nil
}

// Find returns what is suspicious in files. It also names servers that are new or have changed since previous, unless
// previous is nil.
func Find(files, previous Files) []Entry {
	all := []Entry{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		parse := parserOf(file)
		if parse == nil {
			continue
		}
		servers, err := parse(files[file])
		if err != nil { // without its text, which may hold secrets
			all = append(all, Entry{Path: file, Why: []string{"it cannot be read, and was not checked for suspicious MCP servers"}})
			continue
		}
		var before map[string]any
		if previous != nil {
			before, _ = parse(previous[file])
		}
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			why := reasons(servers[name])
			if was, there := before[name]; previous != nil && !ours(name, servers[name]) {
				switch {
				case !there:
					why = append(why, "it is new since the previous backup")
				case !reflect.DeepEqual(was, servers[name]):
					why = append(why, "it has changed since the previous backup")
				}
			}
			if len(why) > 0 {
				all = append(all, Entry{file, name, why})
			}
		}
	}
	return all
}

// ours reports whether an entry is the one that hermes-box setup writes. Such an entry runs no command, so Find does
// not report that it is new or has changed.
func ours(name string, entry any) bool {
	m, ok := entry.(map[string]any)
	url, _ := m["url"].(string)
	return ok && name == "executor" && m["command"] == nil && strings.HasPrefix(url, "http://127.0.0.1:") && strings.HasSuffix(url, "/mcp")
}

func hermes(text []byte) (map[string]any, error) {
	var file struct {
		Servers map[string]any `yaml:"mcp_servers"`
	}
	err := yaml.Unmarshal(text, &file)
	return file.Servers, err
}

func codex(text []byte) (map[string]any, error) {
	var file struct {
		Servers map[string]any `toml:"mcp_servers"`
	}
	err := toml.Unmarshal(text, &file)
	return file.Servers, err
}

// claude reads the servers of a .mcp.json or of a .claude.json, which has those of each project too.
func claude(text []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	type level struct {
		Servers map[string]any `json:"mcpServers"`
	}
	var file struct {
		level
		Projects map[string]level `json:"projects"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	all := map[string]any{}
	maps.Copy(all, file.Servers)
	for dir, project := range file.Projects {
		for name, entry := range project.Servers {
			all[name+" of "+dir] = entry
		}
	}
	return all, nil
}
