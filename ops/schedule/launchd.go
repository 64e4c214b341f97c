package schedule

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// label returns the label of the launchd agent.
func (j Job) label() string { return "io.hermes-box." + strings.TrimPrefix(j.Name(), "hermes-box-") }

// agent returns the text of the launchd agent. If the machine was asleep at the time of a backup, launchd runs the
// agent later. With RunAtLoad, launchd also runs it after each login, since the machine may have been off before.
// The command makes a backup only if one is due. See launchd.plist(5).
func (j Job) agent() string {
	var b strings.Builder
	b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- made by hermes-box -->
<plist version="1.0">
<dict>
`)
	key := func(name string) { fmt.Fprintf(&b, "\t<key>%s</key>\n", name) }
	key("Label")
	fmt.Fprintf(&b, "\t<string>%s</string>\n", escape(j.label()))
	key("ProgramArguments")
	b.WriteString("\t<array>\n")
	for _, a := range append([]string{j.Program}, j.arguments()...) {
		fmt.Fprintf(&b, "\t\t<string>%s</string>\n", escape(a))
	}
	b.WriteString("\t</array>\n")
	key("EnvironmentVariables")
	b.WriteString("\t<dict>\n")
	for _, variable := range j.environment() {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Fprintf(&b, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", escape(name), escape(value))
	}
	b.WriteString("\t</dict>\n")
	key("StartCalendarInterval")
	b.WriteString("\t<array>\n")
	for _, hour := range j.hours() {
		b.WriteString("\t\t<dict>\n")
		if j.weekly() {
			b.WriteString("\t\t\t<key>Weekday</key>\n\t\t\t<integer>1</integer>\n")
		}
		fmt.Fprintf(&b, "\t\t\t<key>Hour</key>\n\t\t\t<integer>%d</integer>\n\t\t\t<key>Minute</key>\n\t\t\t<integer>%d</integer>\n\t\t</dict>\n", hour, j.minute())
	}
	b.WriteString("\t</array>\n")
	key("RunAtLoad")
	b.WriteString("\t<true/>\n")
	key("ProcessType")
	b.WriteString("\t<string>Background</string>\n</dict>\n</plist>\n")
	return b.String()
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder has no errors
	return b.String()
}
