package cli

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"hermes-box/guest/protocol"
	"hermes-box/ops/fault"
)

// Version is set by the build: -ldflags "-X hermes-box/cli.Version=...".
var Version = "dev"

type about struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Protocol int    `json:"protocol"`
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Args: cobra.NoArgs,
		Short: "print the version of hermes-box",
		RunE:  func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	v := about{Version: Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Protocol: protocol.Version}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	return a.result("version", v, func(p *printer) {
		p.line("hermes-box %s %s %s", v.Version, v.Platform, v.Go)
	})
}

func (a *app) man() *cobra.Command {
	return &cobra.Command{
		Use: "man [DIR]", Args: cobra.MaximumNArgs(1),
		Short:       "print the man page, or write all of them into a directory",
		Annotations: map[string]string{rawOutput: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			header := &doc.GenManHeader{Title: "HERMES-BOX", Section: "1", Source: "hermes-box " + Version}
			if len(args) == 0 {
				return doc.GenMan(cmd.Root(), header, a.stdout)
			}
			if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
				return fault.New(fault.InvalidInput, "%s is not a directory", args[0]).Hint("mkdir -p %s", args[0])
			}
			return doc.GenManTree(cmd.Root(), header, args[0])
		},
	}
}
