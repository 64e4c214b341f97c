// Package serve answers the host's requests to the guest helper. The helper in a VM uses it with the real machine, the
// rehearsal's helper with a simulated one.
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

// Helper holds the settings of one process of the helper.
type Helper struct {
	Open     func(verb string) *guest.Guest // called once for each verb that is run, not for commands
	Root     bool                           // whether verbs that change the machine may run
	Command  func(*protocol.Command)        // changes a command before it is run; may be nil
	Replaced func() bool                    // whether another program has replaced this one; may be nil
	service  bool                           // this process is the service
}

// Main runs the verb that args name, with the standard streams, and returns the exit status. It ends early on a signal,
// or when the reader of its answer has gone.
func (h Helper) Main(args []string) int {
	if len(args) > 0 && args[0] == protocol.Attach {
		return attach.Main(args[1:])
	}
	// Catch SIGPIPE, so that writing to a closed pipe is an error and does not kill the helper in the middle of a
	// change. Do not ignore SIGPIPE: programs that the helper runs would ignore it too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	ctx, hungUp := context.WithCancel(ctx)
	defer hungUp()
	go untilClosed(os.Stdout, hungUp)
	return h.run(ctx, args, os.Stdin, os.Stdout, os.Stderr)
}

// run returns the exit status: 0, 1 for a failure, 2 for arguments that name no verb.
func (h Helper) run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 2 && args[0] == protocol.Channel {
		return h.channel(ctx, args[1], stdin, stdout, stderr)
	}
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: hermes-box-guest VERB")
		return 2
	}
	switch args[0] {
	case protocol.Serve:
		if err := h.Serve(ctx, h.Open(args[0]).Path(protocol.SocketPath), stderr); err != nil {
			fmt.Fprintln(stderr, "serve:", err)
			return 1
		}
		return 0
	case "version":
		fmt.Fprintf(stdout, "hermes-box-guest, protocol %d\n", protocol.Version)
		return 0
	case protocol.MapData:
		if err := h.Open(args[0]).MapData(ctx); err != nil {
			fmt.Fprintln(stderr, "map-data:", err)
			return 1
		}
		return 0
	case "executor-prestart": // run by systemd; its output goes to systemd's journal
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

// do runs a verb and answers with its events and one result or error.
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
	syscall.Umask(0o022) // sudo may have set another: the agent user must be able to read the files that are made for it
	g := h.Open(name)
	if also := g.Emit; also != nil {
		g.Emit = func(e protocol.Event) { a.event(e); also(e) }
	} else {
		g.Emit = a.event
	}
	result, err := v.do(ctx, g, in)
	if err != nil {
		_ = a.failure(protocolError(err)) // an error means that the reader has gone
		return 1
	}
	if err := a.result(result); err != nil {
		fmt.Fprintln(stderr, "hermes-box-guest:", err)
		return 1
	}
	return 0
}
