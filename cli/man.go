package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"hermes-box/ops/fault"
)

// manual is what the main page tells beside what cobra makes of the flags: in the markup that cobra takes.
const manual = `# FILES
*hermes-box.yaml*
:   what you want: the name of the box, its size, its ports. Chosen by **--config**, then **HERMES_BOX_CONFIG**, then the
    current directory.

*hermes-box.lock*
:   beside it: everything that is ever installed, pinned by digest. Without it **create** refuses.

*~/.hermes-box*
:   what this machine knows: the record of each box, downloaded software, logs, and a LIMA_HOME of its own.

# ENVIRONMENT
**HERMES_BOX_CONFIG**
:   the config that is worked on.

**HERMES_BOX_HOME**
:   instead of *~/.hermes-box*.

**HERMES_BOX_LIMACTL**
:   the limactl to run, instead of the one found in PATH.

**HERMES_BOX_THEME**
:   the colours of the dashboard: ansi (those of the terminal), dark or light.

**NO_COLOR**
:   no colours.

**ACCESSIBLE**
:   for screen readers: text instead of the dashboard, questions line by line. So does TERM=dumb.

**HERMES_BOX_DEMO_DIR**, **HERMES_BOX_DEMO_PACE**, **HERMES_BOX_DEMO_FAULTS**
:   of **--demo**: where it is, a factor for how long things take, what goes wrong.

# EXIT STATUS
**0**
:   done, or nothing to do.

**1**
:   failed. **doctor**: a check failed or could not be made.

**2**
:   wrong command, flag, config or lock.

**130**
:   interrupted.

**141**
:   nobody reads the output any more.

**ssh** and **exec** pass on the status of what was run in the box.
`

func (a *app) man() *cobra.Command {
	return &cobra.Command{
		Use: "man [VERB|DIR]", Args: cobra.MaximumNArgs(1),
		Short: "show the man page or that of a verb, or write all of them into a directory",
		Long: `Show the man page, or that of a verb: on a terminal as man shows it, else as its source. With the name of a
directory all pages are written into it.`,
		Example:     "  hermes-box man\n  hermes-box man create\n  hermes-box man /usr/local/share/man/man1",
		Annotations: map[string]string{rawOutput: "yes", anyBox: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, shown := cmd.Root(), cmd.Root()
			if len(args) == 1 {
				verb, _, err := root.Find(args)
				if err != nil || verb == root {
					if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
						refused := fault.New(fault.InvalidInput, "%s is neither a verb nor a directory", args[0])
						if meant := meantVerb(root, args[0]); meant != "" {
							return refused.Hint("did you mean hermes-box man %s?", meant)
						}
						return refused.Hint("hermes-box help lists the verbs; mkdir -p %s makes the directory", shellescape.Quote(args[0]))
					}
					return writePages(root, args[0])
				}
				shown = verb
			}
			var roff bytes.Buffer
			if err := writePage(&roff, shown); err != nil {
				return err
			}
			if !isTerminal(a.stdout) {
				_, err := a.stdout.Write(roff.Bytes())
				return err
			}
			if err := showPage(cmd.Context(), roff.Bytes(), a.stdout); err == nil || cmd.Context().Err() != nil {
				return cmd.Context().Err()
			}
			return shown.Help() // no man is here that can show it
		},
	}
}

// writePage writes the page of a command in the language of man.
func writePage(w io.Writer, cmd *cobra.Command) error {
	page := *cmd
	page.DisableAutoGenTag = true
	if cmd == cmd.Root() {
		page.Long += "\n\n" + verbLines(cmd) + manual
	}
	title := strings.ToUpper(strings.ReplaceAll(cmd.CommandPath(), " ", "-"))
	return doc.GenMan(&page, &doc.GenManHeader{Title: title, Section: "1", Source: "hermes-box " + Version}, w)
}

// verbLines is a section with a line on each verb.
func verbLines(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# COMMANDS\n")
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" {
			use := strings.TrimSuffix(strings.TrimPrefix(cmd.UseLine(), root.Name()+" "), " [flags]")
			fmt.Fprintf(&b, "**%s**\n:   %s\n\n", use, cmd.Short)
		}
	}
	return b.String()
}

// writePages writes the page of a command and those of all below it into a directory.
func writePages(cmd *cobra.Command, dir string) error {
	for _, verb := range cmd.Commands() {
		if verb.IsAvailableCommand() {
			if err := writePages(verb, dir); err != nil {
				return err
			}
		}
	}
	var page bytes.Buffer
	if err := writePage(&page, cmd); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"), page.Bytes(), 0o644)
}

// showPage has man show a page, in the pager that the person has.
func showPage(ctx context.Context, roff []byte, out io.Writer) error {
	c := exec.CommandContext(ctx, "man", "-l", "-")
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(roff), out, io.Discard
	return c.Run()
}
