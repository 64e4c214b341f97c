package ssh

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"hermes-box/limactl/child"
)

// control returns the socket of an instance's ssh master, and whether it exists.
func (c *Client) control(instance string) (string, bool) {
	dir, err := c.Dir(instance)
	if err != nil {
		return "", false
	}
	path := filepath.Join(dir, "ssh.sock")
	return path, exists(path)
}

// masterLimit is the timeout of a request to an ssh master.
const masterLimit = time.Second

// dropMaster makes the ssh master close its socket, so that it gets no new sessions. Its running sessions continue.
// Ending the master would also end other commands and the ports that Lima forwards. If the master does not react,
// dropMaster removes the socket. In both cases it also removes the socket of the service, so that the next call for the
// service makes the next master forward it.
func (c *Client) dropMaster(ctx context.Context, instance string) {
	err := c.askMaster(ctx, instance, "-O", "stop")
	if path, there := c.control(instance); there && errors.Is(err, context.DeadlineExceeded) {
		_ = os.Remove(path)
	}
	if path, err := c.serviceSocket(instance); err == nil {
		_ = os.Remove(path)
	}
}

// prove checks that the connection works before a session on a terminal, which sends no signs of life. If there is no
// shared connection, or it does not answer in time, prove runs a command, which replaces a master that hangs.
func (c *Client) prove(ctx context.Context, instance string) error {
	if _, there := c.control(instance); there && c.answers(ctx, instance) {
		return nil
	}
	return c.Exec(ctx, instance, Exec{Args: []string{"true"}})
}

// answers reports whether sshd answers over the shared connection. It requests a connection to a port on which nothing
// listens, which takes one round trip and starts no process in the guest.
func (c *Client) answers(ctx context.Context, instance string) bool {
	program, args, err := c.command(instance)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, hedge)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(args, "-W", "127.0.0.1:1", alias(instance))...)
	cmd.Env = c.Env
	child.Detach(cmd)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		c.log(ctx, Run{Args: cmd.Args, Begin: begin, Status: cmd.ProcessState.ExitCode(), Stderr: string(out), Err: err})
		return false
	}
	return strings.Contains(strings.ToLower(string(out)), "stdio forwarding") // a refusal shows that sshd answers
}
