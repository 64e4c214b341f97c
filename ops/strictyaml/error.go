package strictyaml

import (
	"fmt"
	"slices"
	"strings"

	"hermes-box/ops/fault"
)

// Problem is one thing that is wrong in a file.
type Problem struct {
	Line     int    `json:"line"`          // counted from 1
	Key      string `json:"key,omitempty"` // "vm.memory", "components.node.artifacts[0].url"; empty for the file itself
	Found    string `json:"found"`
	Accepted string `json:"accepted"`
}

// Error is everything that is wrong in one file, in the order of its lines. It is an invalid_input fault.
type Error struct {
	File     string
	Problems []Problem
}

// shown bounds how many problems an error text lists: a file of another kind altogether has one a line.
const shown = 20

func (e *Error) Error() string {
	var lines []string
	for _, p := range e.Problems[:min(len(e.Problems), shown)] {
		key := ""
		if p.Key != "" {
			key = p.Key + ": "
		}
		lines = append(lines, fmt.Sprintf("%s:%d: %sfound %s; accepted: %s", e.File, p.Line, key, p.Found, p.Accepted))
	}
	if more := len(e.Problems) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", e.File, more))
	}
	return strings.Join(lines, "\n")
}

// Code is invalid_input.
func (e *Error) Code() string { return string(fault.InvalidInput) }

// Recovery says where to look.
func (e *Error) Recovery() string {
	return fmt.Sprintf("correct line %d of %s and run the command again", e.Problems[0].Line, e.File)
}

// Details lists the problems for the JSON form.
func (e *Error) Details() map[string]any {
	return map[string]any{"file": e.File, "problems": e.Problems}
}

func (e *Error) sort() {
	slices.SortStableFunc(e.Problems, func(a, b Problem) int { return a.Line - b.Line })
}
