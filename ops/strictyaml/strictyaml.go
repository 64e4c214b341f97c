// Package strictyaml reads the files that people edit and review. It accepts one document, and refuses unknown and
// repeated keys, anchors, aliases, tags, tabs and control characters. Each problem names file, line and, if there
// is one, the key, what was found and what is accepted. As many problems as one pass can find are reported together.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// MaxSize is the largest file that is read, in bytes.
const MaxSize = 1 << 20

// Decode parses data, the content of a file, and calls read with its top-level mapping. Keys that read does not ask for
// are unknown. The error, if any, is an *Error.
func Decode(file string, data []byte, read func(root *Map)) error {
	e := &Error{File: file}
	if root := parse(e, data); root != nil {
		readMap(e, root, "", read)
	}
	if len(e.Problems) == 0 {
		return nil
	}
	e.finish()
	return e
}

// parse returns the top-level mapping; nil if there is at least one problem.
func parse(e *Error, data []byte) *yaml.Node {
	if p := rawProblem(data); p != nil {
		e.Problems = append(e.Problems, *p)
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		e.add(1, "", "an empty file", "a mapping of keys to values")
		return nil
	case err != nil:
		e.addSyntax(err)
		return nil
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		e.addSyntax(err)
		return nil
	default:
		e.add(second.Line, "", "a second document", "one document")
		return nil
	}
	root := doc.Content[0]
	e.walk(root, "", 0)
	if len(e.Problems) == 0 && root.Kind != yaml.MappingNode {
		e.add(root.Line, "", describe(root), "a mapping of keys to values")
	}
	if len(e.Problems) > 0 {
		return nil
	}
	return root
}

// rawProblem returns a problem that makes a file unreadable, found before the file is parsed; nil if there is none.
// The parser would report most of these without the line.
func rawProblem(data []byte) *Problem {
	if len(data) > MaxSize {
		return &Problem{1, "", fmt.Sprintf("a file of %d bytes", len(data)), fmt.Sprintf("at most %d bytes", MaxSize)}
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return &Problem{1, "", "a byte order mark", "UTF-8 without one"}
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if !utf8.Valid(line) {
			return &Problem{number, "", "bytes that are not UTF-8", "UTF-8"}
		}
		text := string(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
		switch i := strings.IndexFunc(text, invisible); {
		case i < 0:
		case text[i] == '\t':
			return &Problem{number, "", "a tab", "spaces"}
		default:
			r, _ := utf8.DecodeRuneInString(text[i:])
			return &Problem{number, "", fmt.Sprintf("the control character %U", r), "text without control characters"}
		}
	}
	return nil
}

// invisible reports whether a character is refused everywhere: control characters, line ends that only some programs
// know, and characters that change the direction of the text. Text with such characters does not look the way it is
// parsed.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// addSyntax adds an error of the YAML parser as a problem.
func (e *Error) addSyntax(err error) {
	text, line := err.Error(), 1
	if m := syntaxLine.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	e.add(line, "", "text that is not YAML ("+text+")", "YAML")
}

func (e *Error) add(line int, key, found, accepted string) {
	e.Problems = append(e.Problems, Problem{max(line, 1), key, found, accepted})
}

// maxDepth is more than the nesting of any valid file.
const maxDepth = 20

// walk adds problems for valid YAML that is always a mistake in these files.
func (e *Error) walk(n *yaml.Node, path string, depth int) {
	switch {
	case depth > maxDepth:
		e.add(n.Line, "", fmt.Sprintf("values nested more than %d deep", maxDepth), "less")
		return
	case n.Kind == yaml.AliasNode:
		e.add(n.Line, path, "the alias *"+n.Value, "the value itself")
		return
	case n.Anchor != "":
		e.add(n.Line, path, "the anchor &"+n.Anchor, "a value without one")
	case n.Style&yaml.TaggedStyle != 0:
		e.add(n.Line, path, "the tag "+n.Tag, "a value without one")
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for i, item := range n.Content {
			e.walk(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
	case yaml.MappingNode:
		first := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
				e.add(key.Line, path, "a key that is "+describe(key), "a plain word as key")
				continue
			}
			at := join(path, key.Value)
			if line, seen := first[key.Value]; seen {
				e.add(key.Line, at, fmt.Sprintf("a repeated key (first on line %d)", line), "each key once")
			} else {
				first[key.Value] = key.Line
			}
			e.walk(n.Content[i+1], at, depth+1)
		}
	}
}

func join(path, key string) string {
	if strings.ContainsFunc(key, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }) || len(key) > 60 {
		key = quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// describe returns a description of a node for error messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "the number " + clip(n.Value)
	case "!!bool":
		return "the truth value " + clip(n.Value)
	case "!!timestamp":
		return "the date " + clip(n.Value)
	}
	return quote(n.Value)
}

func quote(s string) string { return strconv.Quote(clip(s)) }

func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
