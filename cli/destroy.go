package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"hermes-box/internal/age"
	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

func (a *app) destroy() *cobra.Command {
	o, _ := ops.OperationNamed("destroy")
	how, confirm := ops.Destroying{}, ""
	cmd := &cobra.Command{
		Use: o.Name, GroupID: "box", Args: cobra.NoArgs,
		Short: o.Effect, SuggestFor: strings.Fields(o.Words),
		Long: o.Long + `

With --backups, destroy asks for the name of the box. Without --force it also asks if the box does not run, since what has
changed after the newest backup of such a box is lost. With --force it asks only at a terminal. In scripts, --confirm NAME
gives the name.`,
		Example: "  hermes-box destroy\n  hermes-box destroy --backups --confirm main",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			if confirm != "" {
				if err := confirmed(b, confirm); err != nil {
					return err
				}
				how.Confirmed = true
			}
			if how.Force && !how.Backups && !how.Confirmed && b.Record != nil && b.Record.Ready && isTerminal(a.stdin) && !a.json {
				if err := a.askName(cmd.Context(), b, fmt.Errorf("box %q and all its data are removed, without a new backup", b.Name())); err != nil {
					return err
				}
				how.Confirmed = true
			}
			gone, err := a.destroyOnce(cmd.Context(), b, how)
			if name := (*ops.NameNeeded)(nil); errors.As(err, &name) && isTerminal(a.stdin) && !a.json {
				if err := a.askName(cmd.Context(), b, name); err != nil {
					return err
				}
				how.Confirmed = true
				gone, err = a.destroyOnce(cmd.Context(), b, how)
			}
			if err != nil {
				return err
			}
			return a.result("destroy", gone, func(p *printer) { destroyed(p, b, gone) })
		},
	}
	cmd.Flags().BoolVar(&how.Force, "force", false, o.Force.Help)
	cmd.Flags().BoolVar(&how.Backups, "backups", false, "remove its backups and their key too; no new backup is made")
	cmd.Flags().StringVar(&confirm, "confirm", "", "the name of the box, instead of typing it")
	return cmd
}

func (a *app) destroyOnce(ctx context.Context, b *ops.Box, how ops.Destroying) (*ops.Destroyed, error) {
	sink, end := a.sink()
	defer end()
	return b.Destroy(ctx, how, sink)
}

// confirmed returns an error if the text is not the name of the box.
func confirmed(b *ops.Box, text string) error {
	if text != b.Name() {
		return fault.New(fault.InvalidInput, "the name of the box is %q, not %q; nothing is changed", b.Name(), text).
			Hint("to see which box it is: hermes-box status")
	}
	return nil
}

// askName asks for the name of the box on the terminal.
func (a *app) askName(ctx context.Context, b *ops.Box, why error) error {
	fmt.Fprintf(a.errs, "%s\nType the name of the box to destroy it: ", why)
	typed, err := readText(ctx, bufio.NewReader(io.LimitReader(a.stdin, maxPassphrase)))
	if err != nil {
		return err
	}
	return confirmed(b, typed)
}

func destroyed(p *printer, b *ops.Box, gone *ops.Destroyed) {
	switch {
	case gone.Already:
		p.line("box %s does not exist: nothing to do", p.bold(b.Name()))
		return
	case gone.Unfinished:
		p.line("%s removed what an interrupted %s of box %s had left", p.green("✓"), gone.Operation, p.bold(b.Name()))
	case gone.Instance == "" && gone.Removed > 0:
		p.line("%s the backups of box %s are removed", p.green("✓"), p.bold(b.Name()))
	default:
		p.line("%s box %s is removed", p.green("✓"), p.bold(b.Name()))
		if gone.Removed > 0 {
			p.line("removed with it: %s", widget.Count(gone.Removed, "backup"))
		}
	}
	switch missing := gone.KeyMissing; {
	case missing != nil:
		p.line("its backups are kept in %s", shellescape.Quote(gone.Backups))
		p.line("%s %s", p.yellow("!"), missing.Warning)
		for _, what := range gone.Opening {
			p.line("  %s opens them", what)
		}
		if len(gone.Opening) == 0 {
			p.line("  nothing else is known to open them")
		}
		p.line("  %s", p.dim("→ "+missing.Repair))
	case gone.Key != nil && gone.Backups != "":
		p.line("its backups are kept in %s, and their key in %s", shellescape.Quote(gone.Backups), gone.Key.Where)
	case gone.Key != nil:
		p.line("its key is still in %s; to remove it: hermes-box destroy --backups", gone.Key.Where)
	}
	if e := gone.Backup; e != nil {
		p.line("its newest backup was made %s ago; to bring the box back: hermes-box restore %s", age.Format(time.Since(e.Time)), e.ID)
	}
	if gone.CacheBytes > 0 {
		p.line("%s of artifacts are kept for the next create; to remove them: rm -rf %s", sizeText(gone.CacheBytes), shellescape.Quote(gone.Cache))
	}
}
