// Package ssh runs commands inside an instance through ssh: either with streams and an exact exit status, or
// interactively on the terminal. Connections share the ssh master of Lima's host agent as long as it works.
package ssh

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"hermes-box/internal/sanitize"
)

// Client runs commands inside the instances of one LIMA_HOME. It may be used by several goroutines.
type Client struct {
	Program string                                // ssh; empty: looked up in PATH
	Env     []string                              // environment of ssh
	Dir     func(instance string) (string, error) // directory of an instance; an error if the name is invalid
	Helper  string                                // path of the helper in the guest; empty: there is none
	Log     Log                                   // may be nil

	Connect time.Duration // limit from the start of ssh to the opening that package frame describes; 0: 20 seconds
	Silence time.Duration // limit for a running command that sends nothing, not even a sign of life; 0: 2 minutes
}

// Log receives runs of ssh that have ended, from any goroutine.
type Log func(context.Context, Run)

// Run is one run of ssh, for the log.
type Run struct {
	Inside string   // the command in the instance, without its arguments; empty if ssh only controlled its master
	Args   []string // of ssh, with the program
	Begin  time.Time
	Status int // exit status; -1 if ssh was killed
	Stderr string
	Err    error
}

func (c *Client) connectLimit() time.Duration {
	if c.Connect != 0 {
		return c.Connect
	}
	return 20 * time.Second
}

func (c *Client) silenceLimit() time.Duration {
	if c.Silence != 0 {
		return c.Silence
	}
	return 2 * time.Minute
}

func (c *Client) log(ctx context.Context, r Run) {
	if c.Log != nil {
		r.Stderr = sanitize.LastLines(r.Stderr, 5)
		c.Log(ctx, r)
	}
}

// program finds ssh.
func (c *Client) program() (string, error) {
	name := c.Program
	if name == "" {
		name = "ssh"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &Error{message: "ssh is not installed", hint: "install the OpenSSH client: apt-get install openssh-client", code: "preflight_failed", err: err}
	}
	return path, nil
}

// command returns the path of ssh and the options that every connection to an instance has.
func (c *Client) command(instance string, options ...string) (string, []string, error) {
	program, err := c.program()
	if err != nil {
		return "", nil, err
	}
	dir, err := c.Dir(instance)
	if err != nil {
		return "", nil, err
	}
	config := filepath.Join(dir, "ssh.config")
	if !exists(config) {
		return "", nil, &TransportError{Instance: instance, Message: "it has never been started"}
	}
	args := []string{"-F", config,
		"-o", "BatchMode=yes", "-o", fmt.Sprintf("ConnectTimeout=%d", max(1, int(c.connectLimit().Seconds()))),
		"-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4",
		"-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "LogLevel=ERROR", "-e", "none",
	}
	return program, append(args, options...), nil
}

// alias returns the name of an instance in its ssh.config.
func alias(instance string) string { return "lima-" + strings.ReplaceAll(instance, ".", "-") }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
