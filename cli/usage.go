package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hermes-box/internal/spell"
	"hermes-box/ops/fault"
)

// otherWords are what people who know other tools type for a verb of ours. The table of operations may have more.
var otherWords = map[string][]string{
	"create":  {"new", "init", "up"},
	"start":   {"boot", "resume"},
	"stop":    {"down", "halt", "shutdown", "poweroff", "suspend"},
	"restart": {"reboot", "reload"},
	"destroy": {"delete", "remove", "rm"},
	"ssh":     {"attach", "shell", "enter", "tmux"},
	"exec":    {"run"},
	"login":   {"signin", "auth"},
	"status":  {"list", "ls", "ps", "info", "show"},
	"doctor":  {"check", "diagnose"},
}

// strict makes every word that cobra would let pass an error that says what may have been meant.
func strict(root *cobra.Command) {
	root.Args = noSuchVerb
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = append(cmd.SuggestFor, otherWords[cmd.Name()]...)
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
			cmd.Short = "explain a verb"
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
			cmd.Short = "print the completion script for a shell"
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
	meant := ""
	if verb := meantVerb(cmd, args[0]); verb != "" {
		meant = cmd.CommandPath() + " " + verb
	}
	verb := strings.TrimPrefix(cmd.CommandPath()+" "+args[0], cmd.Root().Name()+" ")
	return fault.New(fault.InvalidInput, "there is no command %q", verb).Hint("%s", didYouMean(cmd, meant))
}

// meantVerb is the subcommand of cmd that a word was meant to be: one that other tools call so, or one spelt nearly so.
func meantVerb(cmd *cobra.Command, word string) string {
	var names []string
	for _, sub := range cmd.Commands() {
		if slices.Contains(sub.SuggestFor, strings.ToLower(word)) {
			return sub.Name()
		}
		names = append(names, sub.Name())
	}
	return spell.Nearest(word, names)
}

// oneOf refuses an argument that is none of words.
func oneOf(cmd *cobra.Command, what, arg string, words []string) error {
	if slices.Contains(words, arg) {
		return nil
	}
	err := fault.New(fault.InvalidInput, "%s: there is no %s %q", cmd.Name(), what, arg)
	if meant := spell.Nearest(arg, words); meant != "" {
		return err.Hint("did you mean %s %s? the others are %s", cmd.CommandPath(), meant,
			strings.Join(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == meant }), ", "))
	}
	return err.Hint("%s %s", cmd.CommandPath(), strings.Join(words, "|"))
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
	meant := ""
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if name := spell.Nearest(unknown.GetSpecifiedName(), names); name != "" {
			meant = "--" + name
		}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && kinds[invalid.GetFlag().Value.Type()] != "" {
		err = fmt.Errorf("--%s takes %s, not %q", invalid.GetFlag().Name, kinds[invalid.GetFlag().Value.Type()], invalid.GetValue())
	}
	return fault.New(fault.InvalidInput, "%w", err).Hint("%s", didYouMean(cmd, meant))
}

func didYouMean(cmd *cobra.Command, meant string) string {
	all := cmd.CommandPath() + " --help"
	if meant == "" {
		return all
	}
	return "did you mean " + meant + "? " + all + " lists all"
}
