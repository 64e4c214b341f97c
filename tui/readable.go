package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// readable makes a line of one of our own logs, which are JSON, one for people. Any other stays as it is.
func readable(line string) string {
	line = clean(strings.TrimRight(line, "\r"))
	if !strings.HasPrefix(line, "{") {
		return line
	}
	var e struct {
		Time      time.Time `json:"time"`
		Event     string    `json:"event"`
		Title     string    `json:"title"`
		Component string    `json:"component"`
		Phase     string    `json:"phase"`
		State     string    `json:"state"`
		Line      string    `json:"line"`
		Error     string    `json:"error"`
		Operation string    `json:"operation"`
		Seconds   float64   `json:"seconds"`
		Command   string    `json:"command"`
		Status    int       `json:"status"`
		Stderr    string    `json:"stderr"`
	}
	if json.Unmarshal([]byte(line), &e) != nil || e.Time.IsZero() {
		return line
	}
	at := e.Time.Local().Format("15:04:05") + "  "
	took := ""
	if e.Seconds > 0 {
		took = " in " + elapsed(time.Duration(e.Seconds*float64(time.Second)))
	}
	var text string
	switch {
	case e.Command != "":
		text = fmt.Sprintf("%3d  %s%s", e.Status, e.Command, took)
	case e.Event == "phase":
		text = strings.TrimSpace(e.Component+" "+e.Phase) + ": " + e.State
	case e.Event == "plan":
		text = e.Operation + " begins"
	case e.Event == "finished":
		text = e.Operation + " ends" + took
	case e.Event == "log":
		text = e.Line
	case e.Event == "warning":
		text = "! " + e.Line
	case e.Event != "":
		text = e.Title + ": " + e.Event + took
	default:
		return line
	}
	for _, more := range []string{e.Error, e.Stderr} {
		if more != "" {
			text += ": " + strings.ReplaceAll(clean(more), "\n", " | ")
		}
	}
	return at + clean(text)
}
