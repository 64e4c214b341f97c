package ssh

import (
	"errors"
	"fmt"
	"io"

	"al.essio.dev/pkg/shellescape"
)

// remoteScript runs a command if there is no helper. The remote user's shell runs it: bash, or any POSIX shell. $1 is
// the mark, $2 the directory. The output of a login script comes before the mark.
//
// The script prints the mark on both streams, waits for a line on stdin, runs the command, and prints its status after
// the mark, so that ssh's own exit status keeps its meaning. While the command runs, the script prints signs of life.
// If that fails, the reader has gone, and the script ends the command, which sshd would leave running. The signs of
// life go to stdout, because sshd closes stdout, but not stderr, when the client of a shared connection is gone.
//
// Stderr is redirected except for the command, because bash prints a message to it for each child that a signal ended.
//
// Bash waits with a read from a terminal that is always silent, because on an emulated guest each process, such as sleep,
// costs half as much as a round trip. Other shells run sleep.
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

// runScript execs the command. It looks for the program first, because the message of bash's exec would name a line
// of the script.
const runScript = `if [ -n "$hb_d" ]; then cd -- "$hb_d" || exit 126; fi
case $1 in */*) ;; *) [ -z "$BASH_VERSION" ] || type -P -- "$1" >/dev/null || { printf '%s: command not found\n' "$1" >&2; exit 127; };; esac
exec "$@"`

// ttyScript runs a command with a terminal. It does not wait for a line, and prints no signs of life: the command gets
// SIGHUP when its terminal is closed.
const ttyScript = `trap - EXIT; hb_m=$1 hb_d=$2; shift 2
printf '%s+' "$hb_m"
(` + runScript + `)
hb_s=$?
printf '%s=%s;' "$hb_m" $hb_s
exit $hb_s`

// script returns the shell script that runs a command.
func (e Exec) script(mark, text string) string {
	words := []string{mark, e.Dir}
	if len(e.Env) > 0 {
		words = append(append(words, "env", "--"), e.Env...)
	}
	return "set -- " + shellescape.QuoteCommand(append(words, e.Args...)) + "; " + text
}

// maxScript is the length in bytes of the longest script that fits into a remote command, besides the mark.
const maxScript = maxRemote - 100

var tooLong = &Error{message: fmt.Sprintf("command is too long: more than %d bytes, quoted for the shell", maxScript), hint: "send it on stdin", code: "invalid_input"}

// runScript starts the command of the script, and reads its output up to the end of ssh.
func (k *conn) runScript(e Exec) error {
	defer k.release()
	go feed(k.stdin, e.Stdin)
	out := &markWriter{mark: k.mark, w: e.Stdout, on: true}
	_, _ = io.Copy(out, k.out) // fails if out fails or ssh has ended
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

// feed sends the line that the script waits for, and then stdin.
func feed(w io.WriteCloser, stdin io.Reader) {
	defer w.Close()
	if _, err := io.WriteString(w, "\n"); err != nil || stdin == nil {
		return
	}
	_, _ = io.Copy(w, stdin) // an error means that the command does not read any more
}
