package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hermes-box/internal/sanitize"
	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui"
)

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", GroupID: "look", Args: cobra.NoArgs,
		Short: "check this machine and the box, with evidence and repairs",
		Long: `Check this machine and the box. Nothing is changed. Each check says what it found, and what to do about it. The exit
status is 0 only if every check was made and none failed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.openDamaged()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			s := style{a.colored(a.out)}
			done := func() {}
			d := b.Doctor(ctx, func(c ops.Check) {
				done()
				if done = func() {}; c.Verdict == ops.Looking {
					done = a.meanwhile("checking: " + c.Title)
				} else if sanitize.Value(&c); !a.json {
					fmt.Fprint(a.out, a.typed(checkText(s, c)))
					if a.out.failed() != nil { // nobody reads the other checks
						cancel()
					}
				}
			})
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if err := a.out.failed(); err != nil {
				return err
			}
			if d.Failed+d.Unknown > 0 {
				return fault.New(fault.HealthFailed, "%s", ops.Summary(d.Checks)).Hint("%s", repairs(d.Checks)).
					Detail("checks", d.Checks).Detail("failed", d.Failed).Detail("unknown", d.Unknown)
			}
			return a.result("doctor", d, func(p *printer) { p.line("%s", ops.Summary(d.Checks)) })
		},
	}
}

// repairs returns the hint of doctor. It begins with the first repair of the checks that failed or could not be made.
// If these have no repair, it begins with the first repair of a warning. If there is no repair at all, it is the command
// that shows the command log.
func repairs(checks []ops.Check) string {
	var all, warnings []string
	for _, c := range checks {
		switch {
		case c.Repair == "" || c.Verdict == ops.Pass:
		case c.Verdict == ops.Warn:
			warnings = append(warnings, c.Repair)
		case !slices.Contains(all, c.Repair):
			all = append(all, c.Repair)
		}
	}
	if len(all) == 0 {
		all = warnings
	}
	switch len(all) {
	case 0:
		return "hermes-box logs commands"
	case 1:
		return all[0]
	}
	return all[0] + "; then: hermes-box doctor"
}

// checkText returns a check in one line, and its repair in another.
func checkText(s style, c ops.Check) string {
	sign := tui.SignOfVerdict(c.Verdict)
	glyph := s.sign(sign) + strings.Repeat(" ", len("unknown")-len(sign.Word))
	text := fmt.Sprintf("%s %-24s %s\n", glyph, c.Title, c.Evidence)
	if c.Repair != "" && c.Verdict != ops.Pass {
		text += strings.Repeat(" ", 35) + s.dim("→ "+c.Repair) + "\n"
	}
	return text
}
