package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// readable formats a line of a JSON log of hermes-box as text. From any other line it only removes control sequences.
func readable(line string) string {
	line = widget.Clean(strings.TrimRight(line, "\r"))
	if !strings.HasPrefix(line, "{") {
		return line
	}
	at := func(t time.Time, text string) string { return t.Local().Format("15:04:05") + "  " + widget.Clean(text) }
	var c ops.LoggedCommand
	if json.Unmarshal([]byte(line), &c) == nil && c.Command != "" && !c.Time.IsZero() {
		return at(c.Time, commandLine(c))
	}
	var e ops.Event
	if json.Unmarshal([]byte(line), &e) == nil && e.Kind != "" && !e.Time.IsZero() {
		return at(e.Time, eventLine(e))
	}
	return line
}

// commandLine describes one run of limactl or ssh.
func commandLine(c ops.LoggedCommand) string {
	how := "✓"
	switch {
	case c.Canceled():
		how, c.Error = "–", ""
	case c.Status != 0 || c.Error != "":
		how = "✗"
	}
	return withMore(fmt.Sprintf("%s %6s  %s", how, widget.Elapsed(time.Duration(c.Seconds*float64(time.Second))), c.Line()), c.Error, c.Stderr)
}

// eventLine describes one event of an operation.
func eventLine(e ops.Event) string {
	took := ""
	if e.Seconds > 0 {
		took = " in " + widget.Elapsed(seconds(e))
	}
	text := e.Title + ": " + string(e.Kind) + took
	switch e.Kind {
	case ops.Phase:
		text = strings.TrimSpace(e.Component+" "+e.Phase) + ": " + SignOf(e.State).Word
	case ops.Planned:
		text = e.Operation + " begins"
	case ops.Finished:
		text = e.Operation + " ends" + took
	case ops.Log:
		text = e.Line
	case ops.Warning:
		text = "! " + e.Line
	}
	return withMore(text, e.Error)
}

// withMore appends further texts to a line, on the same line.
func withMore(text string, more ...string) string {
	for _, m := range more {
		if m = strings.TrimSpace(m); m != "" {
			text += ": " + strings.ReplaceAll(m, "\n", " | ")
		}
	}
	return text
}
