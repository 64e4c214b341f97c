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

// manual has the sections FILES, ENVIRONMENT and EXIT STATUS of the main page, in the markup that cobra takes.
const manual = `# FILES
*hermes-box.yaml*
:   describes the box: its name, size and ports. Chosen by **--config**, then **HERMES_BOX_CONFIG**, then the current
    directory.

*hermes-box.lock*
:   in the same directory: all software to install, pinned by digest. **create** requires it.

*~/.hermes-box*
:   the state directory: the record of each box, its backups, downloaded software, logs, and a LIMA_HOME of its own.

# ENVIRONMENT
**HERMES_BOX_CONFIG**
:   path of the config.

**HERMES_BOX_HOME**
:   the state directory instead of *~/.hermes-box*; an absolute path.

**HERMES_BOX_LIMACTL**
:   the limactl to run instead of the one in PATH.

**HERMES_BOX_THEME**
:   the colours of the dashboard: ansi (those of the terminal), dark or light.

**NO_COLOR**
:   if set, no colours.

**ACCESSIBLE**
:   for screen readers: text instead of the dashboard, questions line by line. TERM=dumb has the same effect.

**HERMES_BOX_DEMO_DIR**, **HERMES_BOX_DEMO_PACE**, **HERMES_BOX_DEMO_FAULTS**
:   for **--demo**: its directory, a factor for durations, and faults to simulate.

# EXIT STATUS
**0**
:   done, or nothing to do.

**1**
:   failed. **doctor**: a check failed or could not be run.

**2**
:   wrong command, flag, config or lock.

**130**
:   interrupted.

**141**
:   the reader of the output has closed it. A command that changes the box has done so nevertheless.

**ssh** and **exec** exit with the status of the command in the box.
`

func (a *app) man() *cobra.Command {
	return &cobra.Command{
		Use: "man [VERB...|DIR]", Args: cobra.ArbitraryArgs,
		Short: "show the man page of hermes-box or of a verb, or write all pages into a directory",
		Long: `Show the man page of hermes-box or of a verb: formatted on a terminal, else as its source. With the name of a
directory it writes all pages there.`,
		Example:     "  hermes-box man\n  hermes-box man create\n  hermes-box man key import\n  hermes-box man /usr/local/share/man/man1",
		Annotations: map[string]string{rawOutput: "yes", anyBox: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, shown := cmd.Root(), cmd.Root()
			if len(args) > 0 {
				verb := pageOf(root, args)
				if info, err := os.Stat(args[0]); verb == nil && len(args) == 1 && err == nil && info.IsDir() {
					return writePages(root, args[0])
				}
				if verb == nil {
					return noPage(root, args)
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
			return shown.Help() // man is missing or has failed
		},
	}
}

// pageOf returns the command that the words name, such as "key import", or whose page they name, such as "key-import". It
// returns nil if there is none.
func pageOf(root *cobra.Command, words []string) *cobra.Command {
	if verb, rest, err := root.Find(words); err == nil && verb != root && len(rest) == 0 {
		return verb
	}
	name := strings.TrimPrefix(strings.Join(words, "-"), root.Name()+"-")
	var named func(cmd *cobra.Command) *cobra.Command
	named = func(cmd *cobra.Command) *cobra.Command {
		for _, verb := range cmd.Commands() {
			if pageName(verb) == root.Name()+"-"+name {
				return verb
			}
			if found := named(verb); found != nil {
				return found
			}
		}
		return nil
	}
	return named(root)
}

// pageName returns the name of the man page of a command, such as "hermes-box-key-import".
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// noPage returns the error for words that name neither a command nor a directory.
func noPage(root *cobra.Command, words []string) error {
	refused := fault.New(fault.InvalidInput, "%s is neither a verb nor a directory", strings.Join(words, " "))
	if meant := meantVerb(root, words[0]); meant != "" && len(words) == 1 {
		return refused.Hint("did you mean hermes-box man %s?", meant)
	}
	if len(words) == 1 && strings.ContainsRune(words[0], filepath.Separator) {
		return refused.Hint("to make the directory: mkdir -p %s", shellescape.Quote(words[0]))
	}
	return refused.Hint("to list the verbs: hermes-box help")
}

// writePage writes the man page of a command.
func writePage(w io.Writer, cmd *cobra.Command) error {
	page := *cmd
	page.DisableAutoGenTag = true
	if cmd == cmd.Root() {
		page.Long += "\n\n" + verbLines(cmd) + manual
	}
	title := strings.ToUpper(pageName(cmd))
	return doc.GenMan(&page, &doc.GenManHeader{Title: title, Section: "1", Source: "hermes-box " + Version}, w)
}

// verbLines returns a section with a line for each verb except help.
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

// writePages writes the pages of a command and of all its subcommands except help into a directory.
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
	return os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), page.Bytes(), 0o644)
}

// showPage runs man to show a page in the user's pager.
func showPage(ctx context.Context, roff []byte, out io.Writer) error {
	c := exec.CommandContext(ctx, "man", "-l", "-")
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(roff), out, io.Discard
	return c.Run()
}
