package ssh

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"hermes-box/internal/sanitize"
	"hermes-box/limactl/child"
)

// conn is a connection whose remote side has sent its opening and waits for a request: a running ssh, or a socket
// that is forwarded to the service.
type conn struct {
	client   *Client
	instance string
	inside   string // for the log
	ctx      context.Context
	cancel   context.CancelCauseFunc
	release  context.CancelFunc // ends the context of the attempt that made it
	args     []string           // of ssh, for the log
	begin    time.Time
	stdin    io.WriteCloser
	out      *bufio.Reader // the output after the opening
	mark     string
	version  int // of the helper's protocol; 0: the script has answered
	diag     *markWriter
	watch    *watch
	logged   sync.Once
	ended    chan struct{}
	status   int   // of ssh, once it has ended
	err      error // of ssh, once it has ended
}

// errClosed is the cause if this side has closed the connection.
var errClosed = errors.New("closed")

// remote returns the script that ssh passes to the remote user's shell.
type remote func(mark string) string

// newConn returns a connection without streams.
func (c *Client) newConn(ctx context.Context, instance, inside string) *conn {
	k := &conn{client: c, instance: instance, inside: inside, begin: time.Now(), ended: make(chan struct{}), diag: &markWriter{}, release: func() {}}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	return k
}

// dial starts ssh and waits for the opening of the remote side, which does nothing before it gets a request. early is a
// request that dial sends without waiting for the opening; it may be empty.
func (c *Client) dial(ctx context.Context, instance, inside string, run remote, early []byte, stderr io.Writer, options ...string) (*conn, error) {
	program, args, err := c.command(instance, options...)
	if err != nil {
		return nil, err
	}
	k := c.newConn(ctx, instance, inside)
	k.mark = "[hermes-box " + rand.Text() + "]"
	k.diag = &markWriter{mark: k.mark, w: stderr}
	cmd := exec.CommandContext(k.ctx, program, append(args, "-T", "--", alias(instance), run(k.mark))...)
	cmd.Env = c.Env
	cmd.Stderr = k.diag
	child.Detach(cmd)
	if k.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, child.HostError(program, err, "")
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, child.HostError(program, err, "")
	}
	cmd.Stdout = in
	err = cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return nil, child.HostError(program, fmt.Errorf("ssh: %w", err), "")
	}
	k.args = cmd.Args
	_, _ = k.stdin.Write(early) // it fits into the pipe; after an error there is no answer
	go k.wait(cmd, out)
	if err := k.open(out, c.connectLimit()); err != nil {
		return nil, err
	}
	return k, nil
}

// open reads the opening from out, and fails if the opening takes longer than most. After that, the connection ends if
// the remote side gives no sign of life.
func (k *conn) open(out io.Reader, most time.Duration) error {
	k.watch = &watch{r: out, silent: func(limit time.Duration) {
		k.cancel(fmt.Errorf("no sign of life in %v: %w", limit, errTimeout))
	}}
	k.out = bufio.NewReaderSize(k.watch, 64<<10)
	limit := time.AfterFunc(most, func() { k.cancel(fmt.Errorf("no answer in %v: %w", most, errTimeout)) })
	defer limit.Stop()
	if err := k.opening(); err != nil {
		return err
	}
	k.watch.limit = k.client.silenceLimit()
	return nil
}

// wait waits for the end of ssh, but only briefly for other processes that keep ssh's output open, such as a master in
// the background.
func (k *conn) wait(cmd *exec.Cmd, out *os.File) {
	k.err = cmd.Wait()
	if k.ctx.Err() != nil {
		child.Sweep(cmd)
	}
	k.diag.flush()
	k.status = cmd.ProcessState.ExitCode()
	k.log(k.status, k.err)
	close(k.ended)
	if k.ctx.Err() != nil {
		out.Close()
		return
	}
	time.AfterFunc(child.Grace, func() { out.Close() })
}

// log logs the connection, once.
func (k *conn) log(status int, err error) {
	k.logged.Do(func() {
		k.client.log(k.ctx, Run{Inside: k.inside, Args: k.args, Begin: k.begin, Status: status, Stderr: k.diag.early(), Err: err})
	})
}

// opening reads the output of login scripts, the mark after it, and whether the helper or the script answers.
func (k *conn) opening() error {
	var noise []byte
	for k.mark != "" {
		line, err := k.out.ReadSlice(k.mark[len(k.mark)-1])
		if noise = append(noise, line...); strings.HasSuffix(string(noise), k.mark) {
			break
		}
		if extra := len(noise) - maxBefore; extra > 0 {
			noise = append(noise[:0], noise[extra:]...)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			k.cancel(errClosed)
			return k.failed(false, string(noise))
		}
	}
	who, err := k.out.ReadByte()
	if err == nil && who == '*' {
		var text string
		if text, err = k.out.ReadString(';'); err == nil {
			k.version, err = strconv.Atoi(strings.TrimSuffix(text, ";"))
		}
	}
	if err != nil {
		k.cancel(errClosed)
		return k.failed(false, "")
	}
	return nil
}

// failed waits for the end of the connection and returns its cause as an error.
func (k *conn) failed(started bool, noise string) error {
	<-k.ended
	cause := context.Cause(k.ctx)
	if cause != nil && cause != errClosed && !errors.Is(cause, errTimeout) {
		return cause
	}
	message := sanitize.LastLines(k.diag.early(), 5)
	if message == "" {
		message = sanitize.LastLines(noise, 5)
	}
	if started && k.version == 0 {
		message = "" // it was printed before the command; later messages of ssh went to the command's stderr
	}
	err := &TransportError{Instance: k.instance, Started: started, Message: message, Err: k.err, status: k.status}
	if errors.Is(cause, errTimeout) {
		err.Message, err.Err = "", cause
	}
	return err
}

// close closes the connection and waits until the remote side has ended it.
func (k *conn) close() {
	k.stdin.Close()
	<-k.ended
	k.cancel(errClosed)
	k.release()
}

// leave closes a connection after the last frame, without waiting for its end.
func (k *conn) leave(status int, err error) {
	k.log(status, err)
	go k.close()
}

// abort ends the connection and the remote command.
func (k *conn) abort() {
	k.cancel(errClosed)
	k.close()
}

// watch is a reader that calls silent if a Read takes longer than limit. The time that this side spends between Reads
// does not count.
type watch struct {
	r      io.Reader
	limit  time.Duration // 0: none
	silent func(limit time.Duration)
}

func (w *watch) Read(p []byte) (int, error) {
	if w.limit > 0 {
		timer := time.AfterFunc(w.limit, func() { w.silent(w.limit) })
		defer timer.Stop()
	}
	return w.r.Read(p)
}
