// Package serve answers the host over a machine: the whole of the helper but which machine it is on. The static helper
// serves the real one, the rehearsal's helper a simulated one.
package serve

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"hermes-box/guest"
	"hermes-box/guest/attach"
	"hermes-box/guest/component"
	"hermes-box/guest/protocol"
)

// Helper is a process of the helper.
type Helper struct {
	Open    func(verb string) *guest.Guest // the guest for a verb; called once at most, and not for commands
	Root    bool                           // whether verbs that change the machine may run
	Command func(*protocol.Command)        // changes a command before it is run; may be nil
}

// Main does what args ask for over the standard streams and returns the exit status. It ends early on a signal, or when
// nobody reads its answer any more.
func (h Helper) Main(args []string) int {
	if len(args) > 0 && args[0] == protocol.Attach {
		return attach.Main(args[1:])
	}
	// Writing to a closed pipe is to be an error, not a death in the middle of a change. A signal that is caught, unlike
	// one that is ignored, is not passed on to the programs that are run.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	ctx, hungUp := context.WithCancel(ctx)
	defer hungUp()
	go untilClosed(os.Stdout, hungUp)
	return h.run(ctx, args, os.Stdin, os.Stdout, os.Stderr)
}

// run returns the exit status: 0, 1 for a failure that the answer tells, 2 for a call that does not exist.
func (h Helper) run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 2 && args[0] == protocol.Channel {
		return h.channel(ctx, args[1], stdin, stdout, stderr)
	}
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: hermes-box-guest VERB")
		return 2
	}
	switch args[0] {
	case "version":
		fmt.Fprintf(stdout, "hermes-box-guest, protocol %d\n", protocol.Version)
		return 0
	case "executor-prestart": // run by systemd; its output goes to the journal
		if err := component.ExecutorPrestart(h.Open(args[0]).Tree); err != nil {
			fmt.Fprintln(stderr, "executor-prestart:", err)
			return 1
		}
		return 0
	}
	v, ok := verbs[args[0]]
	if !ok {
		fmt.Fprintf(stderr, "hermes-box-guest: no verb %q\n", args[0])
		return 2
	}
	return h.do(ctx, args[0], v, input{request: stdin, stdin: stdin, stdout: stdout}, newLines(stdout), stderr)
}

// do runs the verb of a name and answers with its events and one result or error.
func (h Helper) do(ctx context.Context, name string, v verb, in input, a answer, stderr io.Writer) (status int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "panic: %v\n%s", p, debug.Stack())
			_ = a.failure(&protocol.Error{Code: "external_failed", Message: fmt.Sprintf("the guest helper panicked: %v", p),
				Output: string(debug.Stack()), Hint: "report this; the box recovers at the next command"})
			status = 1
		}
	}()
	if v.root && !h.Root {
		_ = a.failure(&protocol.Error{Code: "invalid_input", Message: "this verb of the guest helper needs root",
			Hint: "sudo -n " + protocol.HelperPath + " ..."})
		return 1
	}
	syscall.Umask(0o022) // whatever sudo's is: agent must be able to read what is made for it
	g := h.Open(name)
	if also := g.Emit; also != nil {
		g.Emit = func(e protocol.Event) { a.event(e); also(e) }
	} else {
		g.Emit = a.event
	}
	result, err := v.do(ctx, g, in)
	if err != nil {
		_ = a.failure(protocolError(err)) // where the reader is gone, nobody misses it
		return 1
	}
	if err := a.result(result); err != nil {
		fmt.Fprintln(stderr, "hermes-box-guest:", err)
		return 1
	}
	return 0
}
