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

// find returns where each name of the program begins and ends, and where its verb ends. A colour, or a line break in JSON,
// ends with a letter, so that no word boundary follows it.
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

// typed completes every command line of this program in a text, so that it acts on the same box as this run when it is
// pasted into the same shell. All printed text passes through it, and the strings in JSON too.
func (a *app) typed(text string) string {
	if !strings.Contains(text, "hermes-box ") {
		return text
	}
	return a.withProgram(text, a.program())
}

// typedJSON is typed for a text that is JSON.
func (a *app) typedJSON(text string) string {
	escaped, err := json.Marshal(a.program())
	if err != nil || !strings.Contains(text, "hermes-box ") {
		return text
	}
	return a.withProgram(text, string(escaped[1:len(escaped)-1]))
}

// withProgram replaces the name of the program in every command line of a text.
func (a *app) withProgram(text, program string) string {
	if program == "hermes-box" {
		return text
	}
	var out strings.Builder
	end := 0
	for _, at := range a.commands.find(text) {
		if strings.HasPrefix(text[at[2]:], " --help") {
			continue
		}
		out.WriteString(text[end:at[0]])
		out.WriteString(program)
		end = at[1]
	}
	return out.String() + text[end:]
}

// program returns what to type instead of "hermes-box". Environment variables may have been set only for this run, so they
// are included if another box would be used without them.
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

// sameBox reports whether hermes-box without --config works on the config at path, in this directory, with and without
// HERMES_BOX_CONFIG. byDefault says that the path was chosen without --config.
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

// samePath reports whether two paths are the same name in the same directory. A box belongs to a directory.
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

// homeVariable returns the assignment of HERMES_BOX_HOME and a space, if the default state directory also has a box of the
// config at path.
func homeVariable(path string) string {
	dir := os.Getenv(homeName)
	if dir == "" {
		return ""
	}
	usual, err := usualHome()
	if err != nil || samePath(usual, dir) || !slices.Contains(store.At(usual).ConfigDirs(), filepath.Dir(realPath(path))) {
		return ""
	}
	return homeName + "=" + shellescape.Quote(dir) + " "
}

// demoVariable returns the assignment of HERMES_BOX_DEMO_DIR and a space, if there is also a demo in the default directory.
func demoVariable() string {
	dir := os.Getenv(demo.DirVariable)
	if dir == "" {
		return ""
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	usual := filepath.Join(cache, "hermes-box-demo")
	if _, err := os.Stat(filepath.Join(usual, config.FileName)); err != nil || samePath(usual, dir) {
		return ""
	}
	return demo.DirVariable + "=" + shellescape.Quote(dir) + " "
}
