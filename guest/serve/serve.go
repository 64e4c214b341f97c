// Package serve answers the verbs of package protocol: it is the helper for any machine. The static helper serves the real
// machine, the helper of the rehearsal machine a simulated one.
package serve

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"hermes-box/guest"
	"hermes-box/guest/component"
	"hermes-box/guest/protocol"
)

// Main runs the verb in args over the standard streams and returns the exit status. It ends early on a signal, and when
// nobody reads the answer any more. root is whether verbs that need root are allowed.
func Main(args []string, g *guest.Guest, root bool) int {
	syscall.Umask(0o022) // whatever the umask of sudo is, the agent user must be able to read what is made for it
	// A write to a closed pipe is an error, and does not kill the process in the middle of a change.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	ctx, hungUp := context.WithCancel(ctx)
	defer hungUp()
	go untilClosed(os.Stdout, hungUp)
	return run(ctx, args, os.Stdin, os.Stdout, os.Stderr, g, root)
}

// run does one verb and returns the exit status: 0; 1 for a failure, which is on stdout; 2 for an unknown verb.
func run(ctx context.Context, args []string, stdin *os.File, stdout, stderr *os.File, g *guest.Guest, root bool) (status int) {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: hermes-box-guest VERB")
		return 2
	}
	switch args[0] {
	case "version":
		fmt.Fprintf(stdout, "hermes-box-guest, protocol %d\n", protocol.Version)
		return 0
	case "executor-prestart": // run by systemd: its output goes to the journal
		if err := component.ExecutorPrestart(g.Tree); err != nil {
			fmt.Fprintln(stderr, "executor-prestart:", err)
			return 1
		}
		return 0
	}
	verb, ok := verbs[args[0]]
	if !ok {
		fmt.Fprintf(stderr, "hermes-box-guest: no verb %q\n", args[0])
		return 2
	}
	a := newAnswer(stdout)
	if also := g.Emit; also != nil {
		g.Emit = func(e protocol.Event) { a.event(e); also(e) }
	} else {
		g.Emit = a.event
	}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "panic: %v\n%s", p, debug.Stack())
			a.fail(&protocol.Error{Code: "external_failed", Message: fmt.Sprintf("the guest helper panicked: %v", p),
				Output: string(debug.Stack()), Hint: "report this; the box recovers at the next command"})
			status = 1
		}
	}()
	if verb.root && !root {
		a.fail(&protocol.Error{Code: "invalid_input", Message: "this verb of the guest helper needs root",
			Hint: "sudo -n " + protocol.HelperPath + " ..."})
		return 1
	}
	result, err := verb.do(ctx, g, stdin, stdout)
	if err != nil {
		a.fail(err)
		return 1
	}
	if result != nil {
		if err := a.result(result); err != nil {
			fmt.Fprintln(stderr, "hermes-box-guest:", err)
			return 1
		}
	}
	return 0
}
