package login

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// mcpServer is an entry for a server of the Model Context Protocol in Hermes's configuration.
type mcpServer struct {
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
	Tools   *toolFilter       `yaml:"tools,omitempty"`
	Enabled bool              `yaml:"enabled"`
}

type toolFilter struct {
	Include []string `yaml:"include"`
}

// otherTransport are keys of an entry that would make Hermes connect to the server in another way, or not at all.
var otherTransport = []string{"command", "args", "env", "transport", "auth"}

// setServer sets the keys of want in the entry name of mcp_servers. It removes the keys of another transport from the
// entry, and tools.exclude if want has tools. The entry's other keys stay. Other entries, and comments outside the
// entry, stay as they are written. If nothing has to change, setServer returns the text as it was.
func setServer(text []byte, name string, want mcpServer) ([]byte, error) {
	doc, before, err := readConfig(text)
	if err != nil {
		return nil, err
	}
	if doc.Kind == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("the file is not a mapping")
	}
	servers := child(root, "mcp_servers")
	if servers.Kind != yaml.MappingNode {
		*servers = yaml.Node{Kind: yaml.MappingNode}
	}
	entry := child(servers, name)
	if entry.Kind != yaml.MappingNode {
		*entry = yaml.Node{Kind: yaml.MappingNode}
	}
	var wanted yaml.Node
	if err := wanted.Encode(want); err != nil {
		return nil, err
	}
	merge(entry, &wanted)
	drop(entry, otherTransport...)
	if want.Tools != nil {
		drop(child(entry, "tools"), "exclude")
	}
	var after any
	if err := doc.Decode(&after); err != nil {
		return nil, err
	}
	if reflect.DeepEqual(before, after) {
		return text, nil
	}
	block, err := render(name, entry)
	if err != nil {
		return nil, err
	}
	edited, err := splice(string(text), name, block)
	if err != nil {
		return nil, err
	}
	// The edit was made by lines, although YAML has many ways to write the same value. So parse the new text and check
	// it.
	if _, got, err := readConfig([]byte(edited)); err != nil || !reflect.DeepEqual(got, after) {
		return nil, errUnusual
	}
	return []byte(edited), nil
}

var errUnusual = errors.New("mcp_servers is written in a way that cannot be edited: write it as a block, one key per line")

func readConfig(text []byte) (doc yaml.Node, value any, err error) {
	if err = yaml.Unmarshal(text, &doc); err == nil && doc.Kind != 0 {
		err = doc.Decode(&value)
	}
	return doc, value, err
}

// child returns the value of a key of a mapping. If there is no such key, it adds one.
func child(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	value := &yaml.Node{}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
	return value
}

// merge copies the keys of one mapping into another, recursively.
func merge(to, from *yaml.Node) {
	for i := 0; i+1 < len(from.Content); i += 2 {
		mine, theirs := child(to, from.Content[i].Value), from.Content[i+1]
		if mine.Kind == yaml.MappingNode && theirs.Kind == yaml.MappingNode {
			merge(mine, theirs)
			continue
		}
		*mine = *theirs
	}
}

func drop(m *yaml.Node, keys ...string) {
	for _, key := range keys {
		for i := 0; i+1 < len(m.Content); i += 2 {
			if m.Content[i].Value == key {
				m.Content = append(m.Content[:i], m.Content[i+2:]...)
				break
			}
		}
	}
}

// render returns the lines of an entry with its key at the left margin, without what package yaml calls foot comments.
func render(name string, entry *yaml.Node) ([]string, error) {
	var plain func(n *yaml.Node)
	plain = func(n *yaml.Node) {
		n.FootComment = ""
		for _, c := range n.Content {
			plain(c)
		}
	}
	plain(entry)
	entry.Style, entry.Anchor, entry.HeadComment, entry.LineComment = 0, "", "", ""
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	node := yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: name}, entry}}
	if err := errors.Join(enc.Encode(&node), enc.Close()); err != nil {
		return nil, err
	}
	return strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n"), nil
}

// splice inserts the lines of an entry into text: in place of the old entry, after the last entry, or below a new key
// mcp_servers.
func splice(text, name string, block []string) (string, error) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	insert := func(from, to int, indent string) string {
		var out strings.Builder
		for _, l := range lines[:from] {
			out.WriteString(l)
		}
		for _, l := range block {
			out.WriteString(indent + strings.TrimSuffix(l, "\n") + "\n")
		}
		for _, l := range lines[to:] {
			out.WriteString(l)
		}
		return out.String()
	}
	top := findKey(lines, 0, len(lines), 0, "mcp_servers")
	if top < 0 {
		lines = append(lines, "mcp_servers:\n")
		return insert(len(lines), len(lines), "  "), nil
	}
	if m := emptyServers().FindStringSubmatch(lines[top]); m != nil {
		lines[top] = m[1] + m[2]
	} else {
		return "", errUnusual
	}
	end := entryEnd(lines, top, 0)
	indent := 2
	for _, l := range lines[top+1 : end] {
		if hasContent(l) {
			indent = depth(l)
			break
		}
	}
	if at := findKey(lines, top+1, end, indent, name); at >= 0 {
		return insert(at, entryEnd(lines, at, indent), strings.Repeat(" ", indent)), nil
	}
	return insert(end, end, strings.Repeat(" ", indent)), nil
}

// emptyServers matches the line of the key mcp_servers if the line has no value, or an empty one.
var emptyServers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(["']?mcp_servers["']?[ \t]*:)(?:[ \t]*(?:null|~|\{[ \t]*\}))?([ \t]*(?:#.*)?\r?\n)$`)
})

// findKey returns the index of the line that begins with the key at this indentation; -1 if there is none.
func findKey(lines []string, from, to, indent int, key string) int {
	pattern := regexp.MustCompile(fmt.Sprintf(`^ {%d}["']?%s["']?[ \t]*:`, indent, regexp.QuoteMeta(key)))
	for i := from; i < to; i++ {
		if pattern.MatchString(lines[i]) {
			return i
		}
	}
	return -1
}

// entryEnd returns the index after the last line of the value of a key. lines[at] has the key, indented by indent.
func entryEnd(lines []string, at, indent int) int {
	end := at + 1
	for i := at + 1; i < len(lines); i++ {
		if !hasContent(lines[i]) {
			continue
		}
		if depth(lines[i]) <= indent {
			break
		}
		end = i + 1
	}
	return end
}

// hasContent reports whether a line is neither blank nor a comment.
func hasContent(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#'
}

// depth returns the indentation of a line.
func depth(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
