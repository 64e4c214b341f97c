package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// A misspelt verb, flag or argument is an error with a suggestion, and so is the name that a verb has in another tool.
// The error comes before any error about the config.
func TestDidYouMean(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, hint string }{
		{"stauts", "did you mean hermes-box status? hermes-box --help lists all"},
		{"reboot", "did you mean hermes-box restart? hermes-box --help lists all"},
		{"rm", "did you mean hermes-box destroy? hermes-box --help lists all"},
		{"zzz", "hermes-box --help"},
		{"help nosuch", "hermes-box --help"},
		{"help strat", "did you mean hermes-box start? hermes-box --help lists all"},
		{"man docter", "did you mean hermes-box man doctor?"},
		{"status --asci", "did you mean --ascii? hermes-box status --help lists all"},
		{"destroy --forec", "did you mean --force? hermes-box destroy --help lists all"},
		{"logs executr", "did you mean hermes-box logs executor? the others are hermes, recovery, operations, commands, boot"},
		{"logs nothing", "hermes-box logs hermes|executor|recovery|operations|commands|boot"},
		{"open dashbord", "did you mean hermes-box open dashboard? the other is executor"},
		{"login code", "did you mean hermes-box login codex? the others are claude, hermes, model, executor, token"},
		{"setup executr", "did you mean hermes-box setup executor?"},
		{"setup hermes", "hermes-box setup executor"},
		{"completion bahs", "did you mean hermes-box completion bash? hermes-box completion --help lists all"},
	} {
		var out, errs bytes.Buffer
		status := Main(strings.Fields(c.args), os.Stdin, &out, &errs)
		if _, hint, _ := strings.Cut(strings.TrimSpace(errs.String()), "hint: "); status != exitUsage || hint != c.hint || out.Len() != 0 {
			t.Errorf("%s: %d, %s%s", c.args, status, out.String(), errs.String())
		}
	}
}

// eachVerb calls visit with all verbs and the verbs below them.
func eachVerb(cmd *cobra.Command, visit func(*cobra.Command)) {
	for _, sub := range cmd.Commands() {
		visit(sub)
		eachVerb(sub, visit)
	}
}

// The hint about a missing argument is a command with the names of its arguments, without brackets and dots.
func TestMissingArgument(t *testing.T) {
	t.Chdir(t.TempDir())
	missing := 0
	eachVerb((&app{}).root(), func(cmd *cobra.Command) {
		words := strings.Fields(verb(cmd))
		var out, errs bytes.Buffer
		if cmd.Args == nil || cmd.HasSubCommands() || cmd.Args(cmd, nil) == nil {
			return
		}
		missing++
		status := Main(words, os.Stdin, &out, &errs)
		_, hint, _ := strings.Cut(strings.TrimSpace(errs.String()), "hint: ")
		if status != exitUsage || !strings.HasPrefix(hint, cmd.CommandPath()+" ") || strings.ContainsAny(hint, "[]") || strings.Contains(hint, "...") {
			t.Errorf("%s: %d, %s", verb(cmd), status, errs.String())
		}
	})
	if missing < 10 {
		t.Errorf("only %d verbs need an argument", missing)
	}
}

// No line of the help is longer than 120 characters.
func TestHelpIsNotTooWide(t *testing.T) {
	root := (&app{}).root()
	lines := 0
	for _, cmd := range append([]*cobra.Command{root}, all(root)...) {
		cmd.InitDefaultHelpFlag()
		for line := range strings.Lines(cmd.Long + "\n" + cmd.UsageString()) {
			lines++
			if line = strings.TrimRight(line, " \n"); utf8.RuneCountInString(line) > 120 && !strings.Contains(cmd.CommandPath(), " completion") {
				t.Errorf("%s: %d characters: %s", cmd.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
	}
	if lines < 500 {
		t.Errorf("only %d lines", lines)
	}
}

func all(cmd *cobra.Command) (verbs []*cobra.Command) {
	eachVerb(cmd, func(sub *cobra.Command) { verbs = append(verbs, sub) })
	return verbs
}
