package limactl

import (
	"strconv"
	"strings"

	"hermes-box/internal/sanitize"
)

// logField finds a field of a line of logrus' text format: key=word or key="go string". Empty if it is not there.
func logField(line, key string) string {
	rest := line
	for rest != "" {
		rest = strings.TrimLeft(rest, " ")
		name, after, ok := strings.Cut(rest, "=")
		if !ok || strings.ContainsAny(name, " \"") {
			return ""
		}
		value := after
		if strings.HasPrefix(after, `"`) {
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				return ""
			}
			value, _ = strconv.Unquote(quoted)
			rest = after[len(quoted):]
		} else {
			value, rest, _ = strings.Cut(after, " ")
		}
		if name == key {
			return value
		}
	}
	return ""
}

// logMessage is what a log line says, safe to show: its msg field, with its error if it has one; the line itself if it is
// no log.
func logMessage(line string) string {
	msg := logField(line, "msg")
	if msg == "" {
		return sanitize.Text(line)
	}
	if err := logField(line, "error"); err != "" {
		msg += ": " + err
	}
	return sanitize.Text(msg)
}
