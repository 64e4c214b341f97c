package ssh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hermes-box/internal/sanitize"
	"hermes-box/internal/terminal"
	"hermes-box/limactl/child"
	"io"
	"os/exec"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
)

// Exec is one command to run inside. Stdin, Stdout and Stderr may be nil.
type Exec struct {
	Args   []string // the program, looked up in the remote PATH, and its arguments: any bytes but NUL
	Name   string   // what the log calls the command; empty: its program. Arguments may be secret and are not logged
	Env    []string // KEY=value, added to the remote environment
	Dir    string   // remote; empty: the user's home
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	TTY    bool // give it a terminal; Stdin should then be ours, and all output comes on Stdout
}

// maxRemote is the length of the longest single argument that Linux accepts: a remote command is one.
const maxRemote = 128<<10 - 1

// Exec runs one command inside over ssh and waits for its end. A status other than 0 is an *ExitError, exact from 1
// to 255. A connection that fails is a *TransportError, never mistaken for a command that ends with ssh's own 255.
//
// Arguments arrive as they are. Stdout holds what the command prints, and nothing that a login script does. If the
// caller dies or ctx ends, the remote command gets SIGHUP within seconds, and SIGKILL after that.
//
// The connection shares Lima's ssh master. If that one hangs, as it does after the host has slept, it is dropped and
// a fresh connection made; the command cannot run twice for that, as it starts only when told to.
func (c *Client) Exec(ctx context.Context, instance string, e Exec) error {
	ctx = e.named(ctx)
	s, err := newSession(e)
	if err != nil {
		return err
	}
	err = c.session(ctx, instance, e, s, nil)
	var failed *TransportError
	if !errors.As(err, &failed) || failed.Started || ctx.Err() != nil || e.TTY {
		return err
	}
	if _, shared := c.control(instance); !shared {
		return err
	}
	c.dropMaster(ctx, instance)
	if s, err = newSession(e); err != nil {
		return err
	}
	return c.session(ctx, instance, e, s, []string{"-o", "ControlMaster=no", "-o", "ControlPath=none"})
}

// session is one attempt to run a command.
type session struct {
	mark   string // of this attempt, unguessable by what else writes to the same streams
	remote string // what the remote shell gets
}

// remoteScript is run by the remote user's shell: bash, or any that is POSIX. A login script has gone before it; what
// that has printed comes before the mark. $1 is the mark, $2 the directory.
//
// It says that it is there on both streams, waits to be told to go, and reports the command's status, so that all of
// ssh's own exit status is left to ssh. Meanwhile it sends signs of life: writing them fails once nobody is there to
// read them, and that ends the command, which sshd would leave running. They go to stdout, as it is the stream that
// sshd closes when the client of a shared connection goes; stderr it keeps.
//
// Stderr is the command's alone: bash has words for each of its children that a signal ended.
//
// Every process counts: on an emulated guest one takes as long as half of a whole round trip. So bash waits by reading
// what never says anything, a terminal that nobody has opened; other shells run sleep.
const remoteScript = `trap - EXIT; hb_m=$1 hb_d=$2; shift 2
printf '%s+' "$hb_m" >&2; printf '%s+' "$hb_m"
(trap '' HUP PIPE TERM
[ -n "$BASH_VERSION" ] && exec 3<>/dev/ptmx
while { [ -n "$BASH_VERSION" ] && read -r -t 5 -u 3 hb_s; [ $? -gt 128 ]; } || sleep 5 >/dev/null
do kill -0 $$ || kill -s KILL 0; printf '%s.' "$hb_m" || { kill -s HUP 0; sleep 2; kill -s KILL 0; }
done) </dev/null 2>/dev/null & hb_w=$!
read -r hb_s || { kill -s KILL $hb_w; exit 255; }
exec 4>&2 2>/dev/null
(` + runScript + `) 2>&4 4>&-
hb_s=$?
kill -s KILL $hb_w
printf '%s=%s;' "$hb_m" $hb_s
exit $hb_s`

// runScript becomes the command. What exec in bash says of one that does not exist names a line of ours.
const runScript = `if [ -n "$hb_d" ]; then cd -- "$hb_d" || exit 126; fi
case $1 in */*) ;; *) [ -z "$BASH_VERSION" ] || type -P -- "$1" >/dev/null || { printf '%s: command not found\n' "$1" >&2; exit 127; };; esac
exec "$@"`

// ttyScript is the same with a terminal: that ends the command by itself, has one stream, and takes no first line.
const ttyScript = `trap - EXIT; hb_m=$1 hb_d=$2; shift 2
printf '%s+' "$hb_m"
(` + runScript + `)
hb_s=$?
printf '%s=%s;' "$hb_m" $hb_s
exit $hb_s`

func newSession(e Exec) (*session, error) {
	if len(e.Args) == 0 {
		return nil, &Error{message: "no command to run", code: "invalid_input"}
	}
	script := remoteScript
	if e.TTY {
		script = ttyScript
	}
	s := &session{mark: "[hermes-box " + rand.Text() + "]"}
	words := []string{s.mark, e.Dir}
	if len(e.Env) > 0 {
		words = append(append(words, "env", "--"), e.Env...)
	}
	words = append(words, e.Args...)
	for _, w := range words {
		if strings.ContainsRune(w, 0) {
			return nil, &Error{message: "a command's arguments cannot hold a NUL byte", code: "invalid_input"}
		}
	}
	s.remote = "set -- " + shellescape.QuoteCommand(words) + "; " + script
	if len(s.remote) > maxRemote {
		return nil, &Error{message: fmt.Sprintf("command is too long: %d bytes of %d", len(s.remote), maxRemote), hint: "send it on stdin", code: "invalid_input"}
	}
	return s, nil
}

// session runs one attempt.
func (c *Client) session(ctx context.Context, instance string, e Exec, s *session, options []string) error {
	program, args, err := c.command(instance, options...)
	if err != nil {
		return err
	}
	if e.TTY {
		args = append(args, "-tt")
	} else {
		args = append(args, "-T")
	}
	args = append(args, "--", alias(instance), s.remote)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = c.Env

	// The watch ends an attempt that says nothing: first for want of a connection, then of a sign of life.
	watch := time.AfterFunc(c.connectLimit(), func() { cancel(fmt.Errorf("no answer: %w", errTimeout)) })
	defer watch.Stop()
	out := &markWriter{mark: s.mark, w: e.Stdout, begun: make(chan struct{}), alive: func() { watch.Reset(c.silenceLimit()) }, ended: func() { watch.Stop() }}
	diag := &markWriter{mark: s.mark, w: e.Stderr, begun: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, diag
	restore := func(bool) {}
	if e.TTY {
		out.alive = func() { watch.Stop() } // there are no signs of life
		cmd.Stdin = e.Stdin
		politely(cmd)
		restore = terminal.Prepare(cmd, e.Stdout)
	} else {
		child.Detach(cmd)
	}

	begin := time.Now()
	var stdin io.WriteCloser
	if !e.TTY {
		if stdin, err = cmd.StdinPipe(); err != nil {
			return err
		}
	}
	if err := cmd.Start(); err != nil {
		return child.HostError(program, fmt.Errorf("ssh: %w", err), "")
	}
	finished := make(chan struct{})
	if stdin != nil {
		go feed(stdin, e.Stdin, out.begun, finished)
	}
	err = cmd.Wait()
	close(finished)
	if ctx.Err() != nil {
		child.Sweep(cmd)
	}
	out.flush()
	diag.flush()
	c.log(ctx, cmd, begin, diag.early(), err)

	status, reported := out.status()
	restore(!reported && out.started())
	switch {
	case reported && status == 0:
		if err := errors.Join(out.failed(), diag.failed()); err != nil {
			return fmt.Errorf("output of the command: %w", err)
		}
		return nil
	case reported:
		return &ExitError{Status: status}
	case errors.Is(context.Cause(ctx), errTimeout):
		err = context.Cause(ctx)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if werr := errors.Join(out.failed(), diag.failed()); werr != nil {
		return fmt.Errorf("output of the command: %w", werr)
	}
	if out.started() {
		// What ssh had to say of it went to Stderr; what came before is not about this.
		return &TransportError{Instance: instance, Started: true, Err: err}
	}
	return &TransportError{Instance: instance, Message: sanitize.LastLines(diag.early(), 5), Err: err}
}

// feed tells the remote side to go once it is there, and then gives it stdin.
func feed(w io.WriteCloser, stdin io.Reader, begun, finished <-chan struct{}) {
	defer w.Close()
	select {
	case <-begun:
	case <-finished:
		return
	}
	if _, err := io.WriteString(w, "\n"); err != nil || stdin == nil {
		return
	}
	// An error means that the command reads no more, which is its right.
	_, _ = io.Copy(w, stdin)
}

// Reconnect retires the shared connection and makes a new one. What PAM gives a login, such as /etc/environment, is
// read once a connection: a change of it reaches commands only over a new one. What runs over the old one, commands and
// Lima's own channel and forwards, goes on there.
//
// An sshd that takes up a new configuration refuses for a moment, and one on emulated CPUs that have much to do is
// slow: it is tried for as long as three minutes.
func (c *Client) Reconnect(ctx context.Context, instance string) error {
	c.dropMaster(ctx, instance)
	patient := *c
	patient.Connect = 3 * c.connectLimit()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		err := patient.Exec(ctx, instance, Exec{Args: []string{"true"}})
		var refused *TransportError
		if !errors.As(err, &refused) || refused.Started {
			return err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}
