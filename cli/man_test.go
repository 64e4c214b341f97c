package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-box/internal/ttytest"
)

// The main page describes the verbs, the files, the environment and the exit status; each verb has a page of its own.
func TestMan(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	out := m.must("man")
	for _, want := range []string{".SH NAME", ".SH COMMANDS", `\fBcreate\fP`, ".SH FILES", ".SH ENVIRONMENT", "HERMES_BOX_THEME", ".SH EXIT STATUS", ".SH OPTIONS"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the page:\n%s", want, out)
		}
	}
	if strings.Contains(out, "Auto generated") {
		t.Error("the page says that it is auto generated")
	}
	if out := m.must("man", "create"); !strings.Contains(out, "HERMES-BOX-CREATE") || strings.Contains(out, ".SH FILES") {
		t.Errorf("not the page of create:\n%s", out)
	}
	for _, words := range [][]string{{"key", "import"}, {"key-import"}, {"hermes-box-key-import"}} {
		if out := m.must(append([]string{"man"}, words...)...); !strings.Contains(out, "HERMES-BOX-KEY-IMPORT") {
			t.Errorf("%q: not the page of key import:\n%s", words, out)
		}
	}
	dir := t.TempDir()
	m.must("man", dir)
	for _, name := range []string{"hermes-box.1", "hermes-box-create.1", "hermes-box-completion-bash.1"} {
		if page, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(page), ".SH SYNOPSIS") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for given, hint := range map[string]string{
		"nothing-like-it":  "to list the verbs: hermes-box help",
		"key nothing":      "to list the verbs: hermes-box help",
		dir + "/not/there": "to make the directory: mkdir -p ",
		"creat":            "did you mean hermes-box man create?",
	} {
		_, stderr, err := m.run(append([]string{"man"}, strings.Fields(given)...)...)
		if err == nil || !strings.Contains(stderr, given+" is neither a verb nor a directory") || !strings.Contains(stderr, hint) {
			t.Errorf("%s: %v %s", given, err, stderr)
		}
	}
}

// On a terminal man(1) shows the page. Without man(1), the help text is printed.
func TestManOnATerminal(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	script := "#!/bin/sh\necho \"shown by man $*: $(head -c 4)\"\n"
	if err := os.WriteFile(filepath.Join(dir, "man"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir + ":/usr/bin:/bin": "shown by man -l -: .nh", t.TempDir(): "Inspect the box:"} {
		term := ttytest.Start(t, m.cmd("", "man"), 100, 60, "PATH="+path)
		term.Shows(want)
		term.Ends(10 * time.Second)
	}
}
