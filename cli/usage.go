package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hermes-box/ops/fault"
)

// otherWords are what people who know other tools type for a verb of ours.
var otherWords = map[string][]string{
	"create":  {"new", "init", "up"},
	"start":   {"boot", "resume"},
	"stop":    {"down", "halt", "shutdown", "suspend"},
	"destroy": {"delete", "remove", "rm"},
	"ssh":     {"attach", "shell", "enter", "tmux"},
	"exec":    {"run"},
	"status":  {"list", "ls", "ps", "info", "show"},
	"doctor":  {"check"},
}

// strict makes every word that cobra would let pass an error that says what may have been meant.
func strict(root *cobra.Command) {
	root.SuggestionsMinimumDistance = 2
	root.Args = noSuchVerb
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = otherWords[cmd.Name()]
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.PersistentPreRun = nil // cobra's, which keeps that of root from being run
			cmd.Run, cmd.RunE = nil, func(_ *cobra.Command, args []string) error {
				topic, rest, err := root.Find(args)
				if err == nil {
					err = noSuchVerb(topic, rest)
				}
				if err != nil {
					return err
				}
				topic.InitDefaultHelpFlag()
				return topic.Help()
			}
		case "completion":
			cmd.Args = noSuchVerb
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range cmd.Commands() {
				shell.Annotations = map[string]string{rawOutput: "yes"}
			}
		}
	}
}

// noSuchVerb refuses a word after a command that only takes subcommands.
func noSuchVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	var meant []string
	for _, name := range cmd.SuggestionsFor(args[0]) {
		meant = append(meant, cmd.CommandPath()+" "+name)
	}
	verb := strings.TrimPrefix(cmd.CommandPath()+" "+args[0], cmd.Root().Name()+" ")
	return fault.New(fault.InvalidInput, "there is no command %q", verb).Hint("%s", didYouMean(cmd, meant))
}

// wrongFlag says which flag may have been meant.
func wrongFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var meant []string
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		known := &cobra.Command{SuggestionsMinimumDistance: 2} // cobra measures the distance of commands alone
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			known.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		})
		for _, name := range known.SuggestionsFor(unknown.GetSpecifiedName()) {
			meant = append(meant, "--"+name)
		}
	}
	return fault.New(fault.InvalidInput, "%w", err).Hint("%s", didYouMean(cmd, meant))
}

func didYouMean(cmd *cobra.Command, meant []string) string {
	all := cmd.CommandPath() + " --help"
	if len(meant) == 0 {
		return all
	}
	return "did you mean " + strings.Join(meant, ", or ") + "? " + all + " lists all"
}
