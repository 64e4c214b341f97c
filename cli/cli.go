// Package cli turns argv into operations, and their results into text, JSON and an exit status.
//
// Results go to stdout; progress, warnings and errors go to stderr. Without --json and --events, an error begins with
// "hermes-box:" and, if the user can do something about it, is followed by a line that begins with "hint:". With
// --json, stdout holds exactly one object, even after an error; only logs prints one for each line of a log. This
// program asks for input only if stdin is a terminal, but a keyring may ask for its password.
package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// Exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
	exitPipe        = 141 // as a shell reports a command that SIGPIPE has ended
)

// Main runs one command to its end and returns the exit status of the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	store.WrittenBy = Version
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, out: &output{Writer: stdout}, errs: &output{Writer: stderr}}
	ctx, stop := a.signals()
	defer stop()
	root := a.root()
	root.SetOut(a.out)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = cmp.Or(a.helpErr, a.out.failed())
	}
	interrupted := ctx.Err() != nil
	if err == nil {
		if interrupted && a.changes.Load() {
			a.note("nothing was undone: the interruption came too late")
		}
		return exitOK
	}
	var exit *ssh.ExitError
	if a.remote && !interrupted && errors.As(err, &exit) {
		return exit.Status
	}
	// Nobody reads the output any more. A command that changes the box has done its work if the only error is that its
	// result could not be written.
	if errors.Is(err, syscall.EPIPE) && !interrupted && (!a.changes.Load() || errors.Is(err, a.out.failed())) {
		return exitPipe
	}
	if !a.began && a.out.failed() == nil { // cobra refused before any command ran, and may not have parsed the flags
		a.json, a.ascii = slices.Contains(args, "--json"), slices.Contains(args, "--ascii")
		a.useASCII()
		if fault.HintOf(err) == "" {
			err = fault.New(fault.InvalidInput, "%w", err).Hint("%s --help", cmd.CommandPath())
		}
	}
	switch {
	case !interrupted || fault.CodeOf(err) == fault.Interrupted:
	case a.follows:
		return exitInterrupted // the user ended a log that is followed
	case !a.changes.Load() || errors.Is(err, context.Canceled): // no operation, or none of its steps had begun
		err = fault.New(fault.Interrupted, "interrupted")
	default:
		err = fault.New(fault.Interrupted, "interrupted: %w", err)
	}
	a.printError(verb(cmd), err)
	switch fault.CodeOf(err) {
	case fault.InvalidInput:
		return exitUsage
	case fault.Interrupted:
		return exitInterrupted
	}
	return exitFailed
}

// signals cancels the context at the first SIGINT, SIGQUIT, SIGTERM or SIGHUP, so that the operation undoes what it did, or ends
// if that is too late. A
// second one ends the process at once; the next command recovers. Two within a second count as one: timeout(1) signals
// its child and then the process group of both.
func (a *app) signals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 2)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) { // under nohup SIGHUP is ignored
			signal.Notify(ch, sig)
		}
	}
	// With SIGPIPE caught, writing to a closed pipe is an error and does not end the process in the middle of an
	// operation.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	var ended atomic.Bool
	go func() {
		var first time.Time
		for sig := range ch {
			switch {
			case (sig == os.Interrupt || sig == syscall.SIGQUIT) && a.handedOver.Load(): // ctrl-c and ctrl-\ are for the program on the terminal
				continue
			case ended.Load():
				return
			case ctx.Err() == nil:
				first = time.Now()
			case time.Since(first) < time.Second:
				continue
			default:
				os.Exit(exitInterrupted)
			}
			cancel()
			if a.changes.Load() { // whether it is finished or undone depends on the step
				a.note("interrupted: what was begun is undone or finished; interrupt again to stop at once")
			}
		}
	}()
	return ctx, func() {
		ended.Store(true)
		signal.Stop(ch)
		close(ch)
		cancel()
	}
}

func (a *app) root() *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:           "hermes-box",
		Short:         "a persistent, isolated workstation for AI agents",
		Long:          "One persistent, isolated Ubuntu VM for AI agents: Claude Code, Codex, Hermes Agent and Executor.\nWithout a verb it shows the dashboard. hermes-box --demo runs everything without a VM.",
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.began = true
			return a.prepare(cmd)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.printVersion()
			}
			return a.alone(cmd)
		},
	}
	root.SetIn(a.stdin)
	root.SetErr(a.errs)
	root.Flags().BoolVar(&version, "version", false, "print the version of hermes-box")
	dashboardFlags(root.Flags())
	flags := root.PersistentFlags()
	flags.StringVar(&a.configFlag, "config", "", "path of hermes-box.yaml (default $HERMES_BOX_CONFIG, then ./hermes-box.yaml)")
	flags.BoolVar(&a.json, "json", false, "print the result as one JSON object")
	flags.BoolVar(&a.events, "events", false, "print progress as NDJSON on stderr")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print no progress")
	flags.BoolVar(&a.demo, "demo", false, "work on the built-in demo, without a VM and without a network")
	flags.BoolVar(&a.ascii, "ascii", false, "print nothing but ASCII (default where the locale has no UTF-8)")
	flags.StringVar(&a.color, "color", "auto", "colour: auto, always or never")
	root.AddGroup(&cobra.Group{ID: "box", Title: "The box:"}, &cobra.Group{ID: "work", Title: "Work in the box:"}, &cobra.Group{ID: "look", Title: "Inspect the box:"})
	root.AddCommand(a.create(), a.start(), a.stop(), a.restart(), a.destroy(), a.backup(), a.completesBackup(a.restore(), cobra.ShellCompDirectiveDefault), a.key(),
		a.ssh(), a.exec(), a.open(), a.login(), a.setup(),
		a.status(), a.logs(), a.doctor(),
		a.version(), a.man())
	strict(root)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if a.json {
			a.helpErr = fault.New(fault.InvalidInput, "help does not take --json: it is text").Hint("run it without --json")
			return
		}
		help(cmd, args)
	})
	return root
}
