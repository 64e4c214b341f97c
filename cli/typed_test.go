package cli

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"hermes-box/internal/rehearsal/demo"
	"hermes-box/ops"
	"hermes-box/ops/store"
)

// A printed command acts on the same box as the command that printed it, however that box was chosen.
func TestTypedCommandsNameTheBox(t *testing.T) {
	dir, user := t.TempDir(), t.TempDir()
	for _, name := range []string{"hermes-box.yaml", "other.yaml", "it's b.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	caches, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	here, other, odd := filepath.Join(dir, "hermes-box.yaml"), filepath.Join(dir, "other.yaml"), filepath.Join(dir, "it's b.yaml")
	quoted := shellescape.Quote(odd)
	for _, c := range []struct {
		name      string
		dir, flag string
		env       string
		demo      bool
		demoDir   string
		want      string
	}{
		{name: "config of the current directory", dir: dir, want: "hermes-box"},
		{name: "flag names another config", dir: dir, flag: "other.yaml", want: "hermes-box --config " + other},
		{name: "flag names the config of the current directory", dir: dir, flag: here, want: "hermes-box"},
		{name: "name that needs quotes", dir: dir, flag: odd, want: "hermes-box --config " + quoted},
		{name: "variable names the config of the current directory", dir: dir, env: here, want: "hermes-box"},
		{name: "variable, directory without config", dir: empty, env: other, want: "hermes-box"},
		{name: "variable, directory with another config", dir: dir, env: other, want: "hermes-box --config " + other},
		{name: "flag and variable differ", dir: empty, flag: other, env: here, want: "hermes-box --config " + other},
		{name: "flag, directory without config", dir: empty, flag: other, want: "hermes-box --config " + other},
		{name: "flag and variable agree", dir: empty, flag: other, env: other, want: "hermes-box"},
		{name: "a demo", dir: dir, demo: true, want: "hermes-box --demo"},
		{name: "a demo in the default directory", dir: dir, demo: true, demoDir: caches + "/hermes-box-demo", want: "hermes-box --demo"},
		{name: "a demo elsewhere, and none in the default directory", dir: dir, demo: true, demoDir: "/x/a demo",
			want: "HERMES_BOX_DEMO_DIR='/x/a demo' hermes-box --demo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(c.dir)
			t.Setenv("HERMES_BOX_CONFIG", c.env)
			t.Setenv("HERMES_BOX_HOME", "")
			t.Setenv("HOME", user)
			t.Setenv(demo.DirVariable, c.demoDir)
			a := &app{configFlag: c.flag, demo: c.demo}
			text := "type hermes-box destroy --force, or hermes-box exec -- ls; see hermes-box man and hermes-box start --help"
			want := fmt.Sprintf("type %[1]s destroy --force, or %[1]s exec -- ls; see hermes-box man and hermes-box start --help", c.want)
			got := a.typed(text)
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if again := a.typed(got); again != got {
				t.Errorf("twice: %s", again)
			}
			painted := style{true}.dim("hermes-box setup executor")
			if got := a.typed(painted); got != strings.Replace(painted, "hermes-box", c.want, 1) {
				t.Errorf("in colour: %q", got)
			}
			var in, out struct{ Line string }
			text, want = text+"\nhermes-box status", want+"\n"+c.want+" status"
			in.Line = text
			line, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(a.typedJSON(string(line))), &out); err != nil || out.Line != want {
				t.Errorf("in JSON: %v, %s", err, out.Line)
			}
		})
	}
}

// A printed command sets HERMES_BOX_HOME if it would act on another box without it.
func TestTypedCommandsNameTheStateDirectory(t *testing.T) {
	config, other, usual := t.TempDir(), t.TempDir(), t.TempDir()
	h, err := store.Open(usual)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.SaveRecord(&store.Record{Name: "main", ConfigDir: realPath(config)}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(config, "hermes-box.yaml")
	for _, c := range []struct{ name, dir, usual, want string }{
		{"not set", "", usual, ""},
		{"the default directory", usual, usual, ""},
		{"another directory", other, usual, "HERMES_BOX_HOME=" + other + " "},
		{"another directory, and the default one has no such box", other, filepath.Join(usual, "none"), ""},
	} {
		program := homeAssignment(c.dir, c.usual, path) + "hermes-box"
		a := &app{}
		got := a.withProgram("type hermes-box destroy --force, or hermes-box exec -- ls", program)
		want := fmt.Sprintf("type %[1]shermes-box destroy --force, or %[1]shermes-box exec -- ls", c.want)
		if got != want {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, want)
		}
		if again := a.withProgram(got, program); again != got {
			t.Errorf("%s, twice: %s", c.name, again)
		}
	}
}

// A hint can be pasted into a shell and acts on the box of the command that printed it, even if the name of the config
// has spaces and quotes.
func TestHintsCanBePasted(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("beta's file.yaml", []byte("schema: 1\nname: beta\n"))
	m.write("hermes-box.lock", lockFixture(t))
	for _, box := range []string{"main", "beta"} {
		m.write("home/boxes/"+box+".json", fmt.Appendf(nil, `{"schema":1,"name":%q,"config_dir":%q,"instance":%q,"disk":%q,"created":"2026-01-01T00:00:00Z","ready":true}`,
			box, realPath(m.dir + "/x")[:len(realPath(m.dir+"/x"))-2], box, box+"-data"))
	}
	out, stderr, err := m.run("--config", "beta's file.yaml", "destroy", "--json")
	if err == nil {
		t.Fatal(out, stderr)
	}
	var a answer
	if err := json.Unmarshal([]byte(out), &a); err != nil || !strings.Contains(a.Error.Recovery, `"beta"`) {
		t.Fatalf("%v: %s", err, out)
	}
	command := a.Error.Recovery[strings.LastIndex(a.Error.Recovery, ": ")+2:]
	sh := m.cmd("", "status")
	sh.Path, sh.Args = "/bin/sh", []string{"sh", "-c", command}
	if out, err := sh.CombinedOutput(); err != nil || !strings.Contains(string(out), "box beta is removed") {
		t.Errorf("%s: %v: %s", command, err, out)
	}
	if out, stderr, err := m.run("status", "--json"); err != nil || strings.Contains(out, `"state":"absent"`) && !strings.Contains(out, "main") {
		t.Error(out, stderr, err)
	}
	if remaining := fmt.Sprint(m.inventory()); !strings.Contains(remaining, "main.json") || strings.Contains(remaining, "beta.json") {
		t.Errorf("remaining: %s", remaining)
	}
}

// commandWord matches the command lines of hermes-box in a message. The text before decides: "see hermes-box status"
// has a command line, "the hermes-box status" has none.
var commandWord = regexp.MustCompile("(?:^|[\\n\"'`(]\\s*|[;:,|]\\s+|\\b(?:then|or|and|see|type|run|with|by|use|try)\\s+)hermes-box ([a-z]+)([^;|,`()]*)")

// Each command line in a message names a verb and flags that exist.
func TestCommandsInMessagesExist(t *testing.T) {
	root := (&app{}).root()
	seen := 0
	eachString(t, func(where place, text string) {
		if strings.HasPrefix(text, "hermes-box/") {
			return
		}
		for _, m := range commandWord.FindAllStringSubmatch(text, -1) {
			word := m[1]
			if strings.Contains("alone and as does itself pool then without typed", word) {
				continue
			}
			seen++
			words := []string{word}
			if rest := strings.Fields(m[2]); len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
				words = append(words, rest[0])
			}
			verb, rest, err := root.Find(words)
			if err != nil || verb == root || verb.HasSubCommands() && len(rest) > 0 {
				t.Errorf("%s: there is no verb %q, in %q", where, words, text)
				continue
			}
			for _, flag := range flagsOf(m[2]) {
				if verb.Flags().Lookup(flag) == nil && root.PersistentFlags().Lookup(flag) == nil && flag != "help" {
					t.Errorf("%s: %s has no flag --%s, in %q", where, word, flag, text)
				}
			}
		}
		if strings.Contains(text, "LIMA_HOME=") && strings.Contains(text, "limactl ") && !strings.Contains(text, "LIMA_HOME=%s limactl") {
			t.Errorf("%s: use limactl's Client.CommandLine, which quotes: %q", where, text)
		}
	})
	if seen < 60 {
		t.Errorf("found only %d command lines", seen)
	}
}

// hintCommand matches a command line that begins a message or follows a separator in it.
var hintCommand = regexp.MustCompile(`(?:^|[;:]\s+)(?:(?:then|or|and)\s+)?(?:hermes-box|age-keygen|LIMA_HOME=%s limactl)((?: [^;:|&,()\n]+)?)`)

// hintOperand matches a %s that stands for a command in a hint, as in "to retry: %s".
var hintOperand = regexp.MustCompile(`(?:^|[;:] )(?:hermes-box )?%s((?: [^;:|&,()\n]+)?)`)

var plainWord = regexp.MustCompile(`^[a-z]{2,}$`)

// In a hint, only a separator may follow a command, so that the command can be pasted: "to see it: hermes-box status"
// is right, "hermes-box status shows it" is wrong.
func TestHintsHaveNoProseAfterCommands(t *testing.T) {
	root := (&app{}).root()
	known := append(strings.Fields("executor dashboard list on off file"), ops.LogSources...)
	for _, hint := range []string{"hermes-box status shows it", "to see it: hermes-box logs boot; hermes-box create makes it", "hermes-box destroy --force removes box %q"} {
		if prose(root, hint, known) == "" {
			t.Errorf("%q passes", hint)
		}
	}
	// "then" between commands is no command of a shell, unless it begins the purpose of one: "then: hermes-box doctor".
	then := regexp.MustCompile(`[;,] then (?:hermes-box |run the same|see )`)
	for _, hint := range []string{"hermes-box stop --force; then hermes-box start", "wait a minute, then hermes-box doctor", "mv %s %s; then run the same command again"} {
		if !then.MatchString(hint) {
			t.Errorf("%q passes", hint)
		}
	}
	seen := 0
	eachString(t, func(where place, text string) {
		if then.MatchString(text) {
			t.Errorf("%s: %q cannot be pasted: leave out \"then\"", where, text)
		}
		if !hintCommand.MatchString(text) {
			return
		}
		seen++
		if word := prose(root, text, known); word != "" {
			t.Errorf("%s: %q goes on with %q after a command", where, text, word)
		}
	})
	eachNode(t, func(where place, n ast.Node) bool { // in a hint a %s may be a command; elsewhere it may be anything
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		if method, ok := call.Fun.(*ast.SelectorExpr); !ok || method.Sel.Name != "Hint" {
			return true
		}
		text := concatenated(call.Args[0])
		for _, m := range hintOperand.FindAllStringSubmatch(text, -1) {
			seen++
			for _, word := range strings.Fields(m[1]) {
				if plainWord.MatchString(word) {
					t.Errorf("%s: %q goes on with %q after a command", where, text, word)
				}
			}
		}
		return true
	})
	if seen < 80 {
		t.Errorf("found only %d hints", seen)
	}
}

// prose returns the first word that follows a command in a hint without being a part of it, or "". The words in known
// are arguments.
func prose(root *cobra.Command, hint string, known []string) string {
	for _, m := range hintCommand.FindAllStringSubmatch(hint, -1) {
		line, _, _ := strings.Cut(m[1], " -- ")
		words := strings.Fields(line)
		if strings.HasPrefix(m[0], "hermes-box") || strings.Contains(m[0], " hermes-box") {
			verb, rest, err := root.Find(words)
			if err != nil || verb == root { // TestCommandsInMessagesExist looks at these
				continue
			}
			words = rest
		}
		for _, word := range words {
			if plainWord.MatchString(word) && !slices.Contains(known, word) {
				return word
			}
		}
	}
	return ""
}

// flagsOf returns the names of the long flags of a command line up to "--".
func flagsOf(line string) (flags []string) {
	for _, word := range strings.Fields(line) {
		if word == "--" {
			return flags
		}
		if name, ok := strings.CutPrefix(strings.Trim(word, "\"'"), "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			flags = append(flags, name)
		}
	}
	return flags
}

// place is the position of a node. Its text is made only when it is printed, since there are many nodes.
type place struct {
	files *token.FileSet
	pos   token.Pos
}

func (p place) String() string { return p.files.Position(p.pos).String() }

// eachString calls visit with the strings in the files of eachNode, except import paths. A concatenation is one
// string.
func eachString(t *testing.T, visit func(where place, text string)) {
	t.Helper()
	eachNode(t, func(where place, n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BinaryExpr:
			if text := concatenated(n); text != "" {
				visit(where, text)
				return false
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				visit(where, text)
			}
		}
		return true
	})
}

// eachNode calls visit with the position of each node in the Go files of the program and with the node, as ast.Inspect
// does. It leaves out tests and the directories e2e, testdata and screenshots.
func eachNode(t *testing.T, visit func(where place, n ast.Node) bool) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == ".git" || e.Name() == "e2e" || e.Name() == "testdata" || e.Name() == "screenshots") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool { return n != nil && visit(place{set, n.Pos()}, n) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// concatenated returns the text of a string literal or of a concatenation. In a concatenation, %s stands for operands
// that are not string literals. Without any string literal, concatenated returns "".
func concatenated(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return ""
		}
		x, y := concatenated(e.X), concatenated(e.Y)
		if x == "" && y == "" {
			return ""
		}
		if x == "" {
			x = "%s"
		}
		if y == "" {
			y = "%s"
		}
		return x + y
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); e.Kind == token.STRING && err == nil {
			return text
		}
	}
	return ""
}

// In the demo, advice names the variable that chooses the demo's directory.
func TestAdviceOnTheDirectoryOfTheDemo(t *testing.T) {
	const advice = "set HERMES_BOX_HOME to a shorter path"
	if got := (&app{demo: true}).typed(advice); got != "set HERMES_BOX_DEMO_DIR to a shorter path" {
		t.Error(got)
	}
	if got := (&app{demo: true}).typedJSON(advice); got != "set HERMES_BOX_DEMO_DIR to a shorter path" {
		t.Error(got)
	}
	if got := (&app{}).typed(advice); got != advice {
		t.Error(got)
	}
}
