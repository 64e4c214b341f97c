package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
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
