package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/internal/sanitize"
	"hermes-box/limactl/child"
)

// serviceLimit is the time in which the service must begin to answer. The service starts no process, so it is quick
// even in a slow box. Without an answer the helper is started instead.
const serviceLimit = time.Second

// serviceSocket returns the socket on the host that the ssh master forwards to the service of an instance. Lima removes
// it with its own sockets when the instance stops.
func (c *Client) serviceSocket(instance string) (string, error) {
	dir, err := c.Dir(instance)
	return filepath.Join(dir, "helper.sock"), err
}

// askService calls a verb of the service of an instance over the ssh master. Any error but a *protocol.Error means that
// the service has not answered.
func (c *Client) askService(ctx context.Context, instance string, call Call, result any) error {
	if _, there := c.control(instance); !there {
		return errors.New("there is no ssh master")
	}
	data, err := encode(call.Verb, call.Request)
	if err != nil {
		return err
	}
	k, err := c.dialService(ctx, instance, "helper "+call.Verb, data)
	if err != nil {
		return err
	}
	return k.answer(nil, call, result)
}

// dialService connects to the service of an instance and sends the frame of a call. No process is started on either
// side, except the first time, when a run of ssh makes the master forward the socket. (ssh -W could do without a socket
// on the host, but not before OpenSSH 9.4.)
func (c *Client) dialService(ctx context.Context, instance, inside string, call []byte) (*conn, error) {
	path, err := c.serviceSocket(instance)
	if err != nil {
		return nil, err
	}
	socket, err := net.Dial("unix", path)
	if err != nil {
		if socket, err = c.forwardService(ctx, instance, path); err != nil {
			return nil, err
		}
	}
	k := c.newConn(ctx, instance, inside)
	k.args, k.status = []string{"connect", path}, -1
	end := sync.OnceValue(func() error {
		err := socket.Close()
		k.err = context.Cause(k.ctx)
		k.log(k.status, k.err) // an answer has been logged before
		close(k.ended)
		return err
	})
	context.AfterFunc(k.ctx, func() { _ = end() })
	k.stdin = serviceWriter{socket, end}
	_, _ = k.stdin.Write(call) // after an error there is no answer
	if err := k.open(socket, serviceLimit); err != nil {
		return nil, err
	}
	return k, nil
}

// serviceWriter writes to a service. Close ends the connection.
type serviceWriter struct {
	net.Conn
	end func() error
}

func (w serviceWriter) Close() error { return w.end() }

// forwardService makes the ssh master forward the socket path to the service, and connects to it.
func (c *Client) forwardService(ctx context.Context, instance, path string) (net.Conn, error) {
	if strings.ContainsAny(path, `:\%$`) { // ssh would read them as its syntax
		return nil, fmt.Errorf("ssh cannot forward %s", path)
	}
	forward := path + ":" + protocol.SocketPath
	ask := func(request string) error {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // left by a master that has ended
			return err
		}
		return c.askMaster(ctx, instance, "-O", request, "-L", forward)
	}
	if err := ask("forward"); err != nil {
		return nil, err
	}
	socket, err := net.Dial("unix", path)
	if err == nil {
		return socket, nil
	}
	// The master still has the forward, but the socket was removed: the master makes a new one only after the forward
	// is canceled.
	if err := errors.Join(ask("cancel"), ask("forward")); err != nil {
		return nil, err
	}
	return net.Dial("unix", path)
}

// askMaster sends a request to the ssh master of an instance.
func (c *Client) askMaster(ctx context.Context, instance string, request ...string) error {
	program, args, err := c.command(instance)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, masterLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(append(args, request...), alias(instance))...)
	cmd.Env = c.Env
	child.Detach(cmd)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	c.log(ctx, Run{Args: cmd.Args, Begin: begin, Status: cmd.ProcessState.ExitCode(), Stderr: string(out), Err: err})
	if ctx.Err() != nil {
		return fmt.Errorf("ssh master of %s: no answer in %v: %w", instance, masterLimit, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("ssh master of %s: %w: %s", instance, err, sanitize.LastLines(string(out), 1))
	}
	return nil
}
