package cli

import (
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

// boxCommands matches the command lines of this program in a text: "hermes-box VERB" for every verb that works on a box.
// They are written without flags everywhere in the source; typed adds the flags.
type boxCommands struct {
	once    sync.Once
	pattern *regexp.Regexp
}

func (c *boxCommands) find(text string) [][]int {
	c.once.Do(func() {
		var verbs []string
		for _, cmd := range (&app{}).root().Commands() {
			if cmd.Annotations[anyBox] == "" && cmd.Name() != "help" && cmd.Name() != "completion" {
				verbs = append(verbs, regexp.QuoteMeta(cmd.Name()))
			}
		}
		c.pattern = regexp.MustCompile(`\bhermes-box (` + strings.Join(verbs, "|") + `)\b`)
	})
	return c.pattern.FindAllStringIndex(text, -1)
}

// typed returns text with every command line of this program changed so that, pasted into the same shell, it acts on the
// box that this run acts on. Everything printed for people passes through it, as do the hints in JSON.
func (a *app) typed(text string) string {
	if !strings.Contains(text, "hermes-box ") {
		return text
	}
	program := a.program()
	if program == "hermes-box" {
		return text
	}
	var out strings.Builder
	end := 0
	for _, at := range a.commands.find(text) {
		if strings.HasPrefix(text[at[1]:], " --help") {
			continue
		}
		out.WriteString(text[end:at[0]])
		out.WriteString(program)
		end = at[0] + len("hermes-box")
	}
	return out.String() + text[end:]
}

// program returns what has to be typed in place of "hermes-box". Variables of the environment may have been set for
// this run alone, so they are spelled out where a shell without them would reach another box.
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

// sameBox tells whether hermes-box without --config works on the config at path, in this directory, with and without
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

// samePath tells whether two paths lead to one name in one directory: that is what a box belongs to.
func samePath(a, b string) bool { return realPath(a) == realPath(b) }

// realPath is the absolute path of a name, its directory free of symbolic links where it exists.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// homeVariable is the assignment of HERMES_BOX_HOME, with a space behind it, where the usual state directory has a box of
// the same config too.
func homeVariable(path string) string {
	dir := os.Getenv(homeName)
	if dir == "" {
		return ""
	}
	usual, err := usualHome()
	if err != nil || samePath(usual, dir) || !slices.Contains(store.Look(usual).ConfigDirs(), filepath.Dir(realPath(path))) {
		return ""
	}
	return homeName + "=" + shellescape.Quote(dir) + " "
}

// demoVariable is the assignment of HERMES_BOX_DEMO_DIR, with a space behind it, where there is another demo without it.
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
