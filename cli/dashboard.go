package cli

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/tui"
)

// dashboard is what hermes-box does without a verb: on a terminal the dashboard, else the status as text.
func (a *app) dashboard(root *cobra.Command) {
	var ascii bool
	var mirrors []string
	root.Flags().StringArrayVar(&mirrors, "mirror", nil, "directory or base URL to ask first for artifacts, when the dashboard makes the box")
	root.Flags().BoolVar(&ascii, "ascii", false, "draw the dashboard in plain ASCII")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		in, inOK := a.stdin.(*os.File)
		out, outOK := a.stdout.(*os.File)
		if a.json || a.events || !inOK || !outOK || !isTerminal(in) || !isTerminal(out) || os.Getenv("TERM") == "dumb" {
			return a.runStatus(cmd.Context())
		}
		theme := os.Getenv("HERMES_BOX_THEME")
		if theme != "" && !slices.Contains(tui.Themes, theme) {
			return fault.New(fault.InvalidInput, "HERMES_BOX_THEME %q: ansi, dark or light", theme).Hint("unset HERMES_BOX_THEME")
		}
		h, err := a.host()
		if err != nil {
			return err
		}
		h.Mirrors = mirrors
		a.quiet = true // what is said of signals would be drawn over the screen
		return tui.Run(cmd.Context(), tui.On(h, func() (string, error) { return config.Locate(a.configFlag) }),
			tui.Options{In: in, Out: out, Errors: a.stderr, Color: a.color, Theme: theme, ASCII: ascii})
	}
}
