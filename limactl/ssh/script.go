package ssh

import (
	"errors"
	"fmt"
	"io"

	"al.essio.dev/pkg/shellescape"
)

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

// script returns what the remote shell runs for a command.
func (e Exec) script(mark, text string) string {
	words := []string{mark, e.Dir}
	if len(e.Env) > 0 {
		words = append(append(words, "env", "--"), e.Env...)
	}
	return "set -- " + shellescape.QuoteCommand(append(words, e.Args...)) + "; " + text
}

// maxScript is the longest script that fits into a remote command, with the mark.
const maxScript = maxRemote - 100

var tooLong = &Error{message: fmt.Sprintf("command is too long: more than %d bytes", maxScript), hint: "send it on stdin", code: "invalid_input"}

// runScript tells the script to go, and reads its output up to the end of ssh.
func (k *conn) runScript(e Exec) error {
	defer k.release()
	go feed(k.stdin, e.Stdin)
	out := &markWriter{mark: k.mark, w: e.Stdout, on: true}
	_, _ = io.Copy(out, k.out) // an error is out's, or that of an ssh that has ended
	if out.failed() != nil || k.diag.failed() != nil {
		k.cancel(errClosed)
	}
	<-k.ended
	out.flush()
	if err := errors.Join(out.failed(), k.diag.failed()); err != nil {
		return fmt.Errorf("output of the command: %w", err)
	}
	if status, reported := out.status(); reported {
		if status != 0 {
			return &ExitError{Status: status}
		}
		return nil
	}
	return k.failed(true, "")
}

// feed tells the script to go and gives it stdin.
func feed(w io.WriteCloser, stdin io.Reader) {
	defer w.Close()
	if _, err := io.WriteString(w, "\n"); err != nil || stdin == nil {
		return
	}
	_, _ = io.Copy(w, stdin) // an error means that the command reads no more
}
