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

// conn is an ssh whose remote side has sent its opening and waits for a request.
type conn struct {
	client   *Client
	instance string
	inside   string // for the log
	ctx      context.Context
	cancel   context.CancelCauseFunc
	release  context.CancelFunc // of the attempt that made it
	cmd      *exec.Cmd
	begin    time.Time
	stdin    io.WriteCloser
	out      *bufio.Reader // the output after the opening
	mark     string
	version  int // of the helper's protocol; 0: the script answers, not the helper
	diag     *markWriter
	watch    *watch
	logged   sync.Once
	ended    chan struct{}
	err      error // of ssh, once it has ended
}

// errClosed is the cause if we have closed a connection ourselves.
var errClosed = errors.New("closed")

// remote returns the script that ssh passes to the remote user's shell.
type remote func(mark string) string

// dial starts ssh and waits for the opening of the remote side, which does nothing before it gets a request. It sends
// early, a request that may be empty, without waiting for the opening.
func (c *Client) dial(ctx context.Context, instance, inside string, run remote, early []byte, stderr io.Writer, options ...string) (*conn, error) {
	program, args, err := c.command(instance, options...)
	if err != nil {
		return nil, err
	}
	mark := "[hermes-box " + rand.Text() + "]"
	k := &conn{client: c, instance: instance, inside: inside, mark: mark, begin: time.Now(), ended: make(chan struct{}),
		diag: &markWriter{mark: mark, w: stderr}, release: func() {}}
	ctx, k.cancel = context.WithCancelCause(ctx)
	k.ctx = ctx
	k.cmd = exec.CommandContext(ctx, program, append(args, "-T", "--", alias(instance), run(mark))...)
	k.cmd.Env = c.Env
	k.cmd.Stderr = k.diag
	child.Detach(k.cmd)
	if k.stdin, err = k.cmd.StdinPipe(); err != nil {
		return nil, child.HostError(program, err, "")
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, child.HostError(program, err, "")
	}
	k.cmd.Stdout = in
	err = k.cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return nil, child.HostError(program, fmt.Errorf("ssh: %w", err), "")
	}
	_, _ = k.stdin.Write(early) // it fits into a pipe; an error shows in the answer
	go k.wait(out)
	k.watch = &watch{r: out, silent: func(limit time.Duration) {
		k.cancel(fmt.Errorf("no sign of life in %v: %w", limit, errTimeout))
	}}
	k.out = bufio.NewReaderSize(k.watch, 64<<10)
	limit := time.AfterFunc(c.connectLimit(), func() { k.cancel(fmt.Errorf("no answer in %v: %w", c.connectLimit(), errTimeout)) })
	defer limit.Stop()
	if err := k.opening(); err != nil {
		return nil, err
	}
	k.watch.limit = c.silenceLimit()
	return k, nil
}

// wait waits for the end of ssh. It does not wait long for other processes that keep ssh's output open, such as a
// master in the background.
func (k *conn) wait(out *os.File) {
	k.err = k.cmd.Wait()
	if k.ctx.Err() != nil {
		child.Sweep(k.cmd)
	}
	k.diag.flush()
	k.log(k.cmd.ProcessState.ExitCode(), k.err)
	close(k.ended)
	if k.ctx.Err() != nil {
		out.Close()
		return
	}
	time.AfterFunc(child.Grace, func() { out.Close() })
}

// log logs the run of ssh, once.
func (k *conn) log(status int, err error) {
	k.logged.Do(func() {
		k.client.log(k.ctx, Run{Inside: k.inside, Args: k.cmd.Args, Begin: k.begin, Status: status, Stderr: k.diag.early(), Err: err})
	})
}

// opening reads the output of login scripts, the mark after it, and whether the helper or the script answers.
func (k *conn) opening() error {
	var noise []byte
	for {
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

// failed waits for the end of ssh and returns why it has ended.
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
	err := &TransportError{Instance: k.instance, Started: started, Message: message, Err: k.err, status: k.cmd.ProcessState.ExitCode()}
	if errors.Is(cause, errTimeout) {
		err.Message, err.Err = "", cause
	}
	return err
}

// close closes the connection and waits for the end of ssh, which ends with the remote side.
func (k *conn) close() {
	k.stdin.Close()
	<-k.ended
	k.cancel(errClosed)
	k.release()
}

// leave closes a connection after the last frame, without waiting for the end of ssh.
func (k *conn) leave(status int, err error) {
	k.log(status, err)
	go k.close()
}

// abort ends the connection and the remote command.
func (k *conn) abort() {
	k.cancel(errClosed)
	k.close()
}

// watch is a reader that calls silent if a Read takes longer than limit. Time between Reads does not count: it is the
// time that our own side needs.
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
