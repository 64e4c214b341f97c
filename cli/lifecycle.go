package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"hermes-box/ops"
)

// operation returns the command for an operation of ops.Operations; show prints the result of the operation.
func operation[R any](a *app, name string, show func(*printer, *ops.Box, R)) *cobra.Command {
	o, ok := ops.OperationNamed(name)
	if !ok {
		panic("no operation " + name)
	}
	force := false
	cmd := &cobra.Command{
		Use: o.Name, GroupID: "box", Args: cobra.NoArgs,
		Short: o.Effect, Long: o.Long, SuggestFor: strings.Fields(o.Words),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			b.Mirrors = append(b.Mirrors, a.mirrors...)
			b.KeyStore = cmp.Or(a.keyStore, b.KeyStore)
			sink, end := a.sink()
			result, err := b.Do(cmd.Context(), o.Name, force, sink)
			end()
			if err != nil {
				return err
			}
			return a.result(o.Name, result, func(p *printer) { show(p, b, result.(R)) })
		},
	}
	if o.Force != nil {
		cmd.Flags().BoolVar(&force, "force", false, o.Force.Help)
	}
	return cmd
}

// done prints the text with which an operation reports success.
func (p *printer) done(name string, b *ops.Box) {
	o, _ := ops.OperationNamed(name)
	p.line("%s box %s %s", p.green("✓"), p.bold(b.Name()), o.Done)
}

func (a *app) create() *cobra.Command {
	cmd := operation(a, "create", func(p *printer, b *ops.Box, made *ops.Created) {
		p.done("create", b)
		components(p, made.Status)
		p.line("")
		o, _ := ops.OperationNamed("create")
		for _, next := range o.Next {
			p.line("%-12s hermes-box %s", next.To+":", next.Verb)
		}
		p.line("%-12s http://127.0.0.1:%d/", "executor:", b.Ports().Executor)
		if made.Backup != nil {
			p.line("%-12s %s; to make another: hermes-box backup", "backup:", made.Backup.ID)
		}
		if made.Key != nil {
			p.line("%-12s %s; to keep a copy elsewhere, in case this machine is lost: hermes-box key export FILE", "key:", made.Key.Where)
		}
	})
	cmd.Example = "  hermes-box create\n  hermes-box create --mirror /media/artifacts"
	cmd.Flags().StringVar(&a.keyStore, "key-store", "", "where the key is kept: file, keychain or secret-service; default: the keyring, else a file")
	cmd.Flags().StringArrayVar(&a.mirrors, "mirror", nil, "directory or base URL to ask first for artifacts, by digest")
	return cmd
}

func (a *app) start() *cobra.Command {
	return operation(a, "start", func(p *printer, b *ops.Box, run *ops.Run) {
		if run.Already {
			p.line("box %s is already running and healthy", p.bold(b.Name()))
		} else {
			p.done("start", b)
		}
		drift(p, run.Drift)
	})
}

func (a *app) stop() *cobra.Command {
	return operation(a, "stop", func(p *printer, b *ops.Box, run *ops.Run) {
		if run.Already {
			p.line("box %s is already stopped", p.bold(b.Name()))
		} else {
			p.done("stop", b)
		}
	})
}

func (a *app) restart() *cobra.Command {
	return operation(a, "restart", func(p *printer, b *ops.Box, run *ops.Run) {
		p.done("restart", b)
		drift(p, run.Drift)
	})
}

func drift(p *printer, all []ops.Drifted) {
	for _, d := range all {
		p.line("%s %s: %s is applied, %s is desired (%s)", p.yellow("!"), d.Name, orNone(d.From), orNone(d.To), d.Reason)
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
