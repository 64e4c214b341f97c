package ssh

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"hermes-box/limactl/child"
)

// control returns the socket of an instance's ssh master, and whether it is there.
func (c *Client) control(instance string) (string, bool) {
	dir, err := c.Dir(instance)
	if err != nil {
		return "", false
	}
	path := filepath.Join(dir, "ssh.sock")
	return path, exists(path)
}

// masterLimit is how long a master has to give up its socket.
const masterLimit = time.Second

// dropMaster makes the ssh master give up its socket, so that it takes no new sessions. What runs over it goes on:
// ending the master would also end the commands of others and the ports that Lima forwards over it. The socket of one
// that does not do as it is told is removed.
func (c *Client) dropMaster(ctx context.Context, instance string) {
	program, args, err := c.command(instance)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, masterLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(args, "-O", "stop", alias(instance))...)
	cmd.Env = c.Env
	child.Detach(cmd)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	c.log(ctx, Run{Args: cmd.Args, Begin: begin, Status: cmd.ProcessState.ExitCode(), Stderr: string(out), Err: err})
	if path, there := c.control(instance); there && ctx.Err() != nil {
		_ = os.Remove(path)
	}
}

// prove makes sure that sessions over the shared connection get through, for one whose terminal nobody can watch. Without
// a shared connection, or if that does not answer in time, it runs a command, which replaces what hangs.
func (c *Client) prove(ctx context.Context, instance string) error {
	if _, there := c.control(instance); there && c.answers(ctx, instance) {
		return nil
	}
	return c.Exec(ctx, instance, Exec{Args: []string{"true"}})
}

// answers reports whether the far end of the shared connection answers. It is asked to open a port that nobody listens
// on, which costs a round trip and no process in the guest.
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
	return strings.Contains(strings.ToLower(string(out)), "stdio forwarding") // the request was answered, if only by a refusal
}
