package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// service returns the text of the systemd unit that makes one backup. See systemd.service(5) and systemd.exec(5).
func (j Job) service() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# made by hermes-box backup schedule on\n[Unit]\nDescription=Back up box %s (hermes-box)\n\n[Service]\nType=oneshot\n", j.Box)
	for _, variable := range j.environment() {
		fmt.Fprintf(&b, "Environment=%s\n", quoteUnit(variable, false))
	}
	b.WriteString("ExecStart=" + quoteUnit(j.Program, false))
	for _, a := range j.arguments() {
		b.WriteString(" " + quoteUnit(a, true))
	}
	b.WriteString("\nTimeoutStartSec=1d\nNice=10\n")
	return b.String()
}

// timer returns the text of the systemd timer. With Persistent, systemd runs it later if the machine was off at the
// time of a backup. See systemd.timer(5).
func (j Job) timer() string {
	day := "*-*-*"
	if j.weekly() {
		day = "Mon *-*-*"
	}
	var hours []string
	for _, h := range j.hours() {
		hours = append(hours, fmt.Sprintf("%02d", h))
	}
	return fmt.Sprintf("# made by hermes-box backup schedule on\n[Unit]\nDescription=Back up box %s every %s (hermes-box)\n\n[Timer]\nOnCalendar=%s %s:%02d:00\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n",
		j.Box, PeriodName(j.Every), day, strings.Join(hours, ","), j.minute())
}

// quoteUnit quotes a word of a unit file: in double quotes with escapes of C, "%" doubled, and, where variables are
// replaced, "$" doubled.
func quoteUnit(word string, variables bool) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(word) {
		switch c := word[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c == '%':
			b.WriteString("%%")
		case c == '$' && variables:
			b.WriteString("$$")
		case c < ' ' || c == 0x7f:
			b.WriteString(`\x` + strconv.FormatInt(0x100+int64(c), 16)[1:])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
