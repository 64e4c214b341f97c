package cli

import (
	"errors"
	"fmt"
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
		if cmd.Args != nil {
			cmd.Args = inWords(cmd.Args)
		}
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Short = "tell about a verb"
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
			cmd.Short = "print what completes verbs and flags in a shell"
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

// inWords says what is wrong with the number of arguments.
func inWords(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		for n := len(args) - 1; n >= 0; n-- {
			if check(cmd, args[:n]) == nil {
				return fault.New(fault.InvalidInput, "%s does not take %q", cmd.Name(), args[n]).Hint("%s --help", cmd.CommandPath())
			}
		}
		return fault.New(fault.InvalidInput, "%s: something is missing", cmd.Name()).Hint("%s", cmd.UseLine())
	}
}

// kinds are the types of flags, in words.
var kinds = map[string]string{"int": "a whole number", "bool": "true or false"}

// wrongFlag says which flag may have been meant, or what it takes.
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
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && kinds[invalid.GetFlag().Value.Type()] != "" {
		err = fmt.Errorf("--%s takes %s, not %q", invalid.GetFlag().Name, kinds[invalid.GetFlag().Value.Type()], invalid.GetValue())
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
