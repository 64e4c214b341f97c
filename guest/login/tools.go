package login

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hermes-box/guest/component"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// checkTools makes Hermes list the tools of Executor, and compares them with the reviewed ones.
func (l Login) checkTools(ctx context.Context, want []string, token string) error {
	event := protocol.Event{Component: "hermes", Phase: protocol.PhaseHealth, State: protocol.Started}
	l.Emit(event)
	out, err := l.askAgent(ctx, askToolsTime, component.Hermes{}, "bin/hermes", "mcp", "test", serverName)
	text := strings.ReplaceAll(string(out), token, "...")
	if err != nil {
		var exit *machine.ExitError
		if errors.As(err, &exit) {
			exit.Output = strings.ReplaceAll(exit.Output, token, "...")
		}
		return err
	}
	found, problem := toolsIn(text)
	if problem != "" {
		return &protocol.Error{Code: "health_failed", Message: "hermes does not reach executor: " + problem, Hint: "hermes-box logs hermes"}
	}
	if err := reviewed(found, want); err != nil {
		return err
	}
	event.State = protocol.Done
	l.Emit(event)
	return nil
}

// reviewed fails if a tool was not reviewed, or a reviewed one is missing.
func reviewed(found, want []string) error {
	for _, name := range found {
		if !slices.Contains(want, name) {
			return &protocol.Error{Code: "integrity_failed", Message: fmt.Sprintf("executor offers hermes the tool %q, which was not reviewed", name),
				Hint: "hermes-box doctor"}
		}
	}
	for _, name := range want {
		if !slices.Contains(found, name) {
			return &protocol.Error{Code: "health_failed", Message: fmt.Sprintf("executor offers hermes no tool %q", name),
				Hint: "hermes-box logs executor"}
		}
	}
	return nil
}

// toolsIn parses the output of `hermes mcp test`: a line with the number of tools and then a line for each tool, or an
// error message. That command exits with status 0 in both cases.
func toolsIn(text string) (names []string, problem string) {
	listing := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		switch words := strings.Fields(line); {
		case len(words) == 0:
		case words[0] == "✗":
			return nil, strings.Join(words[1:], " ")
		case strings.Contains(line, "Tools discovered:"):
			listing = true
		case listing && strings.HasPrefix(line, "    "):
			names = append(names, words[0])
		}
	}
	if !listing {
		return nil, "it lists no tools"
	}
	slices.Sort(names)
	return names, ""
}
