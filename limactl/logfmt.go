package limactl

import (
	"strconv"
	"strings"

	"hermes-box/internal/sanitize"
)

// logField returns a field of a line in logrus' text format: key=word or key="go string". It is empty if there is
// none.
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

// logMessage returns the message of a log line, safe to show: its msg field, and its error if it has one. For any
// other line it returns the line itself.
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
