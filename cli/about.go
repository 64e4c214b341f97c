package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"hermes-box/guest/protocol"
)

// Version is the version of the program, set by the build: -ldflags "-X hermes-box/cli.Version=...".
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
		Short: "print the version of hermes-box", Annotations: map[string]string{anyBox: "yes"},
		RunE: func(*cobra.Command, []string) error { return a.printVersion() },
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
