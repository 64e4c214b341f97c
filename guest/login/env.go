package login

import (
	"regexp"
	"strings"
)

// assignment matches the lines of an environment file that give a variable its value.
func assignment(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^([ \t]*(?:export[ \t]+)?` + regexp.QuoteMeta(name) + `[ \t]*=)([^\r\n]*)`)
}

// variableIn returns the value of a variable in an environment file, without quotes; empty if it has none. The last
// assignment counts.
func variableIn(text, name string) string {
	all := assignment(name).FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	value := strings.TrimSpace(all[len(all)-1][2])
	if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
		value = value[1 : len(value)-1]
	}
	return value
}

// setVariable sets a variable in an environment file: in every assignment to it or, if there is none, in a new line at
// the end. It changes no other line. The value must not need quotes.
func setVariable(text, name, value string) string {
	lines := assignment(name)
	if lines.MatchString(text) {
		return lines.ReplaceAllStringFunc(text, func(line string) string {
			return lines.FindStringSubmatch(line)[1] + value
		})
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + name + "=" + value + "\n"
}
