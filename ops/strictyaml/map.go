package strictyaml

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"hermes-box/internal/spell"
)

// Map is a mapping being read. A key is known once it was asked for; keys that were never asked for are problems.
// Values that are wrong or missing are reported and read as zero.
type Map struct {
	err   *Error
	node  *yaml.Node
	path  string
	at    map[string]int // index of each key in node.Content
	asked []string       // known keys, in the order they were asked for
	known map[string]bool
}

// readMap runs read on a mapping node and then reports the keys it did not ask for.
func readMap(e *Error, n *yaml.Node, path string, read func(*Map)) {
	m := &Map{err: e, node: n, path: path, at: map[string]int{}, known: map[string]bool{}}
	for i := 0; i < len(n.Content); i += 2 {
		m.at[n.Content[i].Value] = i
	}
	read(m)
	accepted := strings.Join(m.asked, ", ")
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if m.known[key] {
			continue
		}
		found := "an unknown key"
		if len(e.Problems) < kept {
			if meant := spell.Nearest(key, m.asked); meant != "" {
				found += ", did you mean " + meant + "?"
			}
		}
		e.add(n.Content[i].Line, join(path, key), found, accepted)
	}
}

// Has reports whether an optional key is present.
func (m *Map) Has(key string) bool { return m.find(key) != nil }

// Problem adds a problem with the value of key. If the key is missing, the line is that of the mapping.
func (m *Map) Problem(key, found, accepted string) {
	m.err.add(m.line(key), join(m.path, key), found, accepted)
}

// String reads a required string. check, which may be nil, reports whether its value is accepted. Numbers and dates
// must be quoted, so that 3.10 does not become 3.1.
func (m *Map) String(key, accepted string, check func(string) bool) string {
	n := m.require(key, accepted)
	if n == nil {
		return ""
	}
	// "<<" is a text like any other, since there is no merging.
	if tag := n.ShortTag(); n.Kind != yaml.ScalarNode || tag != "!!str" && tag != "!!merge" {
		if n.Kind == yaml.ScalarNode && n.Value != "" && check != nil && check(n.Value) {
			accepted = strconv.Quote(n.Value) + ", in quotes"
		}
		m.Problem(key, describe(n), accepted)
		return ""
	}
	if check != nil && !check(n.Value) {
		m.Problem(key, describe(n), accepted)
		return ""
	}
	return n.Value
}

// Int reads a required whole number from min to max.
func (m *Map) Int(key string, min, max int64) int64 {
	accepted := fmt.Sprintf("a whole number from %d to %d", min, max)
	if min == max {
		accepted = strconv.FormatInt(min, 10)
	}
	n := m.require(key, accepted)
	if n == nil {
		return 0
	}
	// Only decimal numbers: 0x10, 0o17, 017 and 1_000 are numbers in YAML too, but would be mistakes here.
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil ||
		strconv.FormatInt(v, 10) != n.Value || v < min || v > max {
		m.Problem(key, describe(n), accepted)
		return 0
	}
	return v
}

// Map reads a required mapping.
func (m *Map) Map(key string, read func(*Map)) {
	n := m.require(key, "a mapping")
	if n == nil {
		return
	}
	if n.Kind != yaml.MappingNode {
		m.Problem(key, describe(n), "a mapping")
		return
	}
	readMap(m.err, n, join(m.path, key), read)
}

// List reads a required list of mappings.
func (m *Map) List(key string, read func(*Map)) {
	const accepted = "a list of mappings"
	n := m.require(key, accepted)
	if n == nil {
		return
	}
	if n.Kind != yaml.SequenceNode {
		m.Problem(key, describe(n), accepted)
		return
	}
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", join(m.path, key), i)
		if item.Kind != yaml.MappingNode {
			m.err.add(item.Line, at, describe(item), "a mapping")
			continue
		}
		readMap(m.err, item, at, read)
	}
}

// require returns the value of a key, or adds a problem if it is missing.
func (m *Map) require(key, accepted string) *yaml.Node {
	n := m.find(key)
	if n == nil {
		m.Problem(key, "no such key", accepted)
	}
	return n
}

func (m *Map) find(key string) *yaml.Node {
	if !m.known[key] {
		m.known[key] = true
		m.asked = append(m.asked, key)
	}
	if i, ok := m.at[key]; ok {
		return m.node.Content[i+1]
	}
	return nil
}

func (m *Map) line(key string) int {
	if i, ok := m.at[key]; ok {
		return m.node.Content[i].Line
	}
	return m.node.Line
}
