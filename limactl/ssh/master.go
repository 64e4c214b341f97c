package ssh

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
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

// masterLimit is how long a master has to answer on its socket, and to give that up.
const masterLimit = time.Second

// replaceHungMaster drops a master that listens and does not answer. ssh itself would wait for it for ever.
func (c *Client) replaceHungMaster(ctx context.Context, instance string) {
	if path, there := c.control(instance); there && hangs(path) {
		c.dropMaster(ctx, instance)
	}
}

// hangs reports whether an ssh master takes a connection, or lets us wait for that, and does not say hello. The protocol
// is OpenSSH's, PROTOCOL.mux. A socket that nobody listens on is no case of that: ssh replaces it.
func hangs(path string) bool {
	deadline := time.Now().Add(masterLimit)
	conn, err := net.DialTimeout("unix", path, masterLimit)
	if err == nil {
		defer conn.Close()
		_ = conn.SetDeadline(deadline)
		hello := binary.BigEndian.AppendUint32(nil, 8)  // length of the packet
		hello = binary.BigEndian.AppendUint32(hello, 1) // MUX_MSG_HELLO
		hello = binary.BigEndian.AppendUint32(hello, 4) // version of the protocol
		if _, err = conn.Write(hello); err == nil {
			_, err = io.ReadFull(conn, make([]byte, 4))
		}
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

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
	c.log(ctx, "", cmd, begin, string(out), err)
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
	c.replaceHungMaster(ctx, instance)
	ctx, cancel := context.WithTimeout(ctx, hedge)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(args, "-W", "127.0.0.1:1", alias(instance))...)
	cmd.Env = c.Env
	child.Detach(cmd)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		c.log(ctx, "", cmd, begin, string(out), err)
		return false
	}
	return strings.Contains(string(out), "stdio forwarding") // the request was answered, if only by a refusal
}
