package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/internal/rehearsal/demo"
	"hermes-box/ops/config"
	"hermes-box/ops/store"
)

// anyBox marks verbs that do not work on a box: their command lines need no --config and no --demo.
const anyBox = "any-box"

// boxCommands finds the command lines of this program in a text: "hermes-box VERB" for every verb that works on a box.
// Messages are written without the flags that choose the box; typed adds them.
type boxCommands struct {
	once    sync.Once
	pattern *regexp.Regexp
}

// find returns, for each command line, where the name of the program begins and ends, and where the verb ends. The
// pattern has alternatives for a colour sequence and for an escape of JSON, such as \n, in front of the name: both end
// with a letter, so that there is no word boundary after them.
func (c *boxCommands) find(text string) (found [][3]int) {
	c.once.Do(func() {
		var verbs []string
		for _, cmd := range (&app{}).root().Commands() {
			if cmd.Annotations[anyBox] == "" && cmd.Name() != "help" && cmd.Name() != "completion" {
				verbs = append(verbs, regexp.QuoteMeta(cmd.Name()))
			}
		}
		c.pattern = regexp.MustCompile(`(?:\x1b\[[0-9;]*m|\\[nrt]|\b)(hermes-box) (?:` + strings.Join(verbs, "|") + `)\b`)
	})
	for _, at := range c.pattern.FindAllStringSubmatchIndex(text, -1) {
		found = append(found, [3]int{at[2], at[3], at[1]})
	}
	return found
}

// typed completes the command lines that work on a box, so that they act on the same box as this run when they are
// pasted into the same shell. Messages and results pass through typed, even the strings in JSON; log lines that are
// JSON pass through typedJSON.
func (a *app) typed(text string) string {
	text = a.demoDir(text)
	if !strings.Contains(text, "hermes-box ") {
		return text
	}
	return a.withProgram(text, a.program())
}

// demoDir changes the advice "set HERMES_BOX_HOME to": in a demo it names the variable that chooses the directory of
// the demo.
func (a *app) demoDir(text string) string {
	if !a.demo {
		return text
	}
	return strings.ReplaceAll(text, "set "+homeName+" to", "set "+demo.DirVariable+" to")
}

// typedJSON is typed for a text that is JSON.
func (a *app) typedJSON(text string) string {
	text = a.demoDir(text)
	escaped, err := json.Marshal(a.program())
	if err != nil || !strings.Contains(text, "hermes-box ") {
		return text
	}
	return a.withProgram(text, string(escaped[1:len(escaped)-1]))
}

// withProgram replaces the name of the program in the command lines of a text, except where --help follows the verb or
// where it was replaced before.
func (a *app) withProgram(text, program string) string {
	if program == "hermes-box" {
		return text
	}
	var out strings.Builder
	end := 0
	for _, at := range a.commands.find(text) {
		if strings.HasPrefix(text[at[2]:], " --help") || strings.HasSuffix(text[:at[1]], program) {
			continue
		}
		out.WriteString(text[end:at[0]])
		out.WriteString(program)
		end = at[1]
	}
	return out.String() + text[end:]
}

// program returns the text to type instead of "hermes-box". Environment variables may be set for this run only. If the
// command would use another box without HERMES_BOX_HOME or HERMES_BOX_DEMO_DIR, the text sets that variable; if it
// would use another config without HERMES_BOX_CONFIG, the text has --config.
func (a *app) program() string {
	if a.demo {
		return demoVariable() + "hermes-box --demo"
	}
	path := a.configFlag
	if path == "" {
		path = os.Getenv(config.EnvPath)
	}
	if path == "" {
		path = config.FileName
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "hermes-box"
	}
	program := homeVariable(path) + "hermes-box"
	if sameBox(path, a.configFlag == "") {
		return program
	}
	return program + " --config " + shellescape.Quote(path)
}

// sameBox reports whether a command in this directory needs no --config: it uses the config at path while
// HERMES_BOX_CONFIG is unchanged, and no other config if that variable is no longer set. byDefault means that the path
// was chosen without --config.
func sameBox(path string, byDefault bool) bool {
	env := os.Getenv(config.EnvPath)
	if env != "" && !byDefault && !samePath(env, path) {
		return false
	}
	if _, err := os.Stat(config.FileName); err != nil {
		return byDefault || env != ""
	}
	return samePath(config.FileName, path)
}

// samePath reports whether two paths have the same name and the same directory, after links are resolved in the
// directory.
func samePath(a, b string) bool { return realPath(a) == realPath(b) }

// realPath returns an absolute path whose directory has no symbolic links, if the directory exists.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// homeVariable returns the assignment of HERMES_BOX_HOME that a command on the box of the config at path needs.
func homeVariable(path string) string {
	usual, err := usualHome()
	if err != nil {
		return ""
	}
	return homeAssignment(os.Getenv(homeName), usual, path)
}

// homeAssignment returns the assignment of dir to HERMES_BOX_HOME and a space, if dir is not the default state directory
// usual, and usual also has a box whose config is in the directory of path. Otherwise it returns "".
func homeAssignment(dir, usual, path string) string {
	if dir == "" || samePath(usual, dir) || !slices.Contains(store.At(usual).ConfigDirs(), filepath.Dir(realPath(path))) {
		return ""
	}
	return homeName + "=" + shellescape.Quote(dir) + " "
}

// demoVariable returns the assignment of HERMES_BOX_DEMO_DIR and a space, if the variable names another directory than the
// default one. A command without the assignment would then work on another demo, or make one.
func demoVariable() string {
	dir := os.Getenv(demo.DirVariable)
	if dir == "" {
		return ""
	}
	cache, err := os.UserCacheDir()
	if err == nil && samePath(filepath.Join(cache, "hermes-box-demo"), dir) {
		return ""
	}
	return demo.DirVariable + "=" + shellescape.Quote(dir) + " "
}
