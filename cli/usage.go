package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hermes-box/internal/spell"
	"hermes-box/ops/fault"
)

// otherWords are the names that verbs have in other tools. The operations have theirs in the table of package ops, and
// backup has its own.
var otherWords = map[string][]string{
	"ssh":    {"attach", "shell", "enter", "tmux"},
	"exec":   {"run"},
	"login":  {"signin", "auth"},
	"status": {"list", "ls", "ps", "info", "show"},
	"doctor": {"check", "diagnose"},
	"key":    {"keys", "identity", "recipient", "recipients", "passphrase"},
}

// strict makes every unknown verb or argument an error with a hint. Without it cobra accepts some of them.
func strict(root *cobra.Command) {
	root.Args = noSuchVerb
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = append(cmd.SuggestFor, otherWords[cmd.Name()]...)
		if cmd.Args != nil {
			cmd.Args = inWords(cmd.Args)
		}
		cmd.Long = reflowed(cmd.Long)
		for _, sub := range cmd.Commands() { // before cobra adds those of completion
			sub.Long = reflowed(sub.Long)
			if sub.Args = inWords(sub.Args); cmd.Args == nil {
				cmd.Args = noSuchVerb
			}
		}
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Short = "explain a verb"
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

// noSuchVerb refuses a word that is not a subcommand of cmd.
func noSuchVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	meant := ""
	if verb := meantVerb(cmd, args[0]); verb != "" {
		meant = cmd.CommandPath() + " " + verb
	}
	unknown := strings.TrimPrefix(cmd.CommandPath()+" "+args[0], cmd.Root().Name()+" ")
	return fault.New(fault.InvalidInput, "there is no command %q", unknown).Hint("%s", didYouMean(cmd, meant))
}

// meantVerb returns the subcommand that a word stands for, as its name in another tool or as a misspelling, or "" if
// there is no such subcommand.
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

// oneOf refuses an argument that is not one of words.
func oneOf(cmd *cobra.Command, what, arg string, words []string) error {
	if slices.Contains(words, arg) {
		return nil
	}
	err := fault.New(fault.InvalidInput, "%s: there is no %s %q", cmd.Name(), what, arg)
	if meant := spell.Nearest(arg, words); meant != "" {
		hint := fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), meant)
		switch others := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == meant }); len(others) {
		case 0:
		case 1:
			hint += " the other is " + others[0]
		default:
			hint += " the others are " + strings.Join(others, ", ")
		}
		return err.Hint("%s", hint)
	}
	return err.Hint("%s %s", cmd.CommandPath(), strings.Join(words, "|"))
}

// inWords makes cobra's errors about the number of arguments readable.
func inWords(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		for n := len(args) - 1; n >= 0; n-- {
			if check(cmd, args[:n]) == nil {
				return fault.New(fault.InvalidInput, "%s does not take %q", verb(cmd), args[n]).Hint("%s --help", cmd.CommandPath())
			}
		}
		return fault.New(fault.InvalidInput, "%s: an argument is missing", verb(cmd)).Hint("%s", argumentsOf(cmd))
	}
}

// optional matches an argument or a flag in brackets, and the dots of an argument that can be repeated.
var optional = regexp.MustCompile(` \[[^]]*\](\.\.\.)?|\.\.\.`)

// argumentsOf returns a command with the arguments that it needs, so that it can be pasted and filled in.
func argumentsOf(cmd *cobra.Command) string {
	return optional.ReplaceAllString(strings.ReplaceAll(cmd.UseLine(), "[--]", "--"), "")
}

// helpWidth is the longest line in the text of a help.
const helpWidth = 120

// reflowed breaks the lines of each paragraph anew. Paragraphs are separated by empty lines.
func reflowed(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, paragraph := range paragraphs {
		var lines []string
		for _, word := range strings.Fields(paragraph) {
			if last := len(lines) - 1; last >= 0 && utf8.RuneCountInString(lines[last]+" "+word) <= helpWidth {
				lines[last] += " " + word
			} else {
				lines = append(lines, word)
			}
		}
		paragraphs[i] = strings.Join(lines, "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// verb returns what follows the name of the program in a command: "key export".
func verb(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// kinds describes the types of flags that do not accept every value.
var kinds = map[string]string{"int": "a whole number", "bool": "true or false"}

// wrongFlag returns the error about a flag with a hint. For an unknown flag the hint has the flag that was probably
// meant, if there is one. For a wrong value the error says what the flag takes.
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
