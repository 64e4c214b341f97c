package strictyaml

import (
	"fmt"
	"slices"
	"strings"

	"hermes-box/ops/fault"
)

// Problem is one mistake in a file.
type Problem struct {
	Line     int    `json:"line"`          // counted from 1
	Key      string `json:"key,omitempty"` // "vm.memory", "components.node.artifacts[0].url"; empty for the file itself
	Found    string `json:"found"`
	Accepted string `json:"accepted"`
}

// Error lists the problems of one file, in the order of its lines. Its code is invalid_input.
type Error struct {
	File     string
	Problems []Problem // the first problems
	More     int       // the number of further problems
}

// A file that is not a config or a lock can have a problem on every line. So only the first problems are kept, and the
// text of the error lists even fewer.
const (
	kept  = 100
	shown = 20
)

func (e *Error) Error() string {
	var lines []string
	for _, p := range e.Problems[:min(len(e.Problems), shown)] {
		key := ""
		if p.Key != "" {
			key = p.Key + ": "
		}
		lines = append(lines, fmt.Sprintf("%s:%d: %sfound %s; accepted: %s", e.File, p.Line, key, p.Found, p.Accepted))
	}
	if more := len(e.Problems) + e.More - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", e.File, more))
	}
	return strings.Join(lines, "\n")
}

// Code returns invalid_input.
func (e *Error) Code() string { return string(fault.InvalidInput) }

// Recovery returns the hint, which names the first line to correct.
func (e *Error) Recovery() string {
	return fmt.Sprintf("correct line %d of %s and run the command again", e.Problems[0].Line, e.File)
}

// Details lists the problems for the JSON form.
func (e *Error) Details() map[string]any {
	return map[string]any{"file": e.File, "problems": e.Problems, "more": e.More}
}

// finish puts the problems in the order of their lines and keeps the first.
func (e *Error) finish() {
	slices.SortStableFunc(e.Problems, func(a, b Problem) int { return a.Line - b.Line })
	if e.More = max(len(e.Problems)-kept, 0); e.More > 0 {
		e.Problems = e.Problems[:kept]
	}
}
