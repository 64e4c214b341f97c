package cli

import (
	"al.essio.dev/pkg/shellescape"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"hermes-box/ops"
)

func (a *app) create() *cobra.Command {
	var mirrors []string
	cmd := &cobra.Command{
		Use: "create", GroupID: "box", Args: cobra.NoArgs,
		Short: "make the box: data disk, VM and all software, proven healthy",
		Long: `Make the box that hermes-box.yaml and hermes-box.lock describe.

Nothing is made before this machine has been checked. If anything fails, or at ctrl-c, exactly what was
made is removed again; artifacts that came in whole stay in the cache, so that the next try is faster.`,
		Example: "  hermes-box create\n  hermes-box create --mirror /media/artifacts",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			b.Mirrors = append(b.Mirrors, mirrors...)
			sink, end := a.sink()
			made, err := b.Create(cmd.Context(), sink)
			end()
			if err != nil {
				return err
			}
			return a.result("create", made, func(p *printer) {
				p.line("%s box %s is running", p.green("✓"), p.bold(b.Name()))
				components(p, made.Status)
				p.line("")
				p.line("work in it:  hermes-box ssh")
				p.line("executor:    http://127.0.0.1:%d/", b.Ports().Executor)
				p.line("sign in:     hermes-box login")
			})
		},
	}
	cmd.Flags().StringArrayVar(&mirrors, "mirror", nil, "directory or base URL to ask first for artifacts, by digest")
	return cmd
}

func (a *app) start() *cobra.Command {
	return &cobra.Command{
		Use: "start", GroupID: "box", Args: cobra.NoArgs,
		Short: "boot the box and start what is applied to it",
		Long:  "Boot the box and start what is applied to it. Nothing is ever installed by start; drift is reported.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			sink, end := a.sink()
			run, err := b.Start(cmd.Context(), sink)
			end()
			if err != nil {
				return err
			}
			return a.result("start", run, func(p *printer) {
				if run.Already {
					p.line("box %s runs already and is healthy", p.bold(b.Name()))
				} else {
					p.line("%s box %s is running", p.green("✓"), p.bold(b.Name()))
				}
				drift(p, run.Drift)
			})
		},
	}
}

func (a *app) stop() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "stop", GroupID: "box", Args: cobra.NoArgs,
		Short: "stop the services, sync the data disk, stop the VM",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			sink, end := a.sink()
			run, err := b.Stop(cmd.Context(), force, sink)
			end()
			if err != nil {
				return err
			}
			return a.result("stop", run, func(p *printer) {
				if run.Already {
					p.line("box %s is stopped already", p.bold(b.Name()))
				} else {
					p.line("%s box %s is stopped", p.green("✓"), p.bold(b.Name()))
				}
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "do not ask the guest: for a box that no longer answers")
	return cmd
}

func (a *app) destroy() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "destroy", GroupID: "box", Args: cobra.NoArgs,
		Short: "remove the box: its VM and its data disk",
		Long: `Remove the box: its VM, its data disk with everything in it, and the host's record of it. Only these, by
their exact names, are touched. Without --force a fresh verified backup must exist.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.openBox()
			if err != nil {
				return err
			}
			sink, end := a.sink()
			gone, err := b.Destroy(cmd.Context(), force, sink)
			end()
			if err != nil {
				return err
			}
			return a.result("destroy", gone, func(p *printer) {
				if gone.Unfinished {
					p.line("%s what an interrupted create of box %s had left is gone", p.green("✓"), p.bold(b.Name()))
				} else {
					p.line("%s box %s is gone", p.green("✓"), p.bold(b.Name()))
				}
				if gone.CacheBytes > 0 {
					p.line("kept for the next create: %s of artifacts; rm -rf %s frees them", humanize.IBytes(uint64(gone.CacheBytes)), shellescape.Quote(gone.Cache))
				}
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "destroy without a verified backup: everything in the box is lost")
	return cmd
}

func drift(p *printer, all []ops.Drifted) {
	for _, d := range all {
		p.line("%s %s drifts: %s is applied, %s is wanted (%s)", p.yellow("!"), d.Name, orNone(d.From), orNone(d.To), d.Reason)
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
