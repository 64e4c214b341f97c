// Package limactl drives Lima through its own command; its package ssh runs commands inside. Nothing else runs limactl
// or ssh.
//
// Lima is never trusted to have done what it says: what it deletes is looked for again, the locks it drops are
// put back, a state it calls Broken is taken apart, and a pid it would kill is looked at first. Instances and
// disks are named exactly; nothing here takes a pattern or a prefix.
//
// A Client may be used by several goroutines. It does not serialise changes to one instance: its caller holds a
// lock across every sequence that changes something, for limactl has none.
package limactl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hermes-box/limactl/ssh"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
)

// Config says which Lima to drive.
type Config struct {
	Program string        // limactl; empty: looked up in PATH
	Home    string        // LIMA_HOME, absolute; made by the first thing that needs it
	SSH     string        // ssh; empty: looked up in PATH
	Helper  string        // path of the helper inside an instance; empty: it has none
	Log     func(Command) // called after every run of limactl or ssh, from any goroutine; may be nil
	Env     []string      // environment to run them in; nil: our own. LIMA_* is dropped from either
	Accel   func() Accel  // how fast machines of this host are; nil: Acceleration
}

// Command is one run of limactl or ssh, for the log. What went in on stdin is never part of it.
type Command struct {
	Args     []string // with the program
	Inside   string   // of ssh: what ran in the instance, without its arguments
	Duration time.Duration
	Status   int // exit status; -1 if it did not start or was killed
	Stderr   string
	Err      error
}

// Client drives one LIMA_HOME.
type Client struct {
	*ssh.Client // into its instances
	config      Config
	env         []string
	probe       func() Accel // of this host; replaced in tests
}

// New makes a client. Nothing is looked up or run before the first call.
func New(c Config) *Client {
	base := c.Env
	if base == nil {
		base = os.Environ()
	}
	env := make([]string, 0, len(base)+1)
	for _, kv := range base {
		if !strings.HasPrefix(kv, "LIMA_") {
			env = append(env, kv)
		}
	}
	if c.Accel == nil {
		c.Accel = Acceleration
	}
	client := &Client{config: c, env: append(env, "LIMA_HOME="+c.Home), probe: c.Accel}
	client.Client = &ssh.Client{Program: c.SSH, Env: client.env, Log: client.logSSH, Helper: c.Helper, Dir: func(name string) (string, error) {
		return client.Dir(name), checkName("instance", name)
	}}
	return client
}

// Home is the LIMA_HOME.
func (c *Client) Home() string { return c.config.Home }

// CommandLine is limactl with these arguments on this home, to be pasted into a shell.
func (c *Client) CommandLine(args ...string) string {
	return "LIMA_HOME=" + shellescape.Quote(c.config.Home) + " " + shellescape.QuoteCommand(append([]string{cmp.Or(c.config.Program, "limactl")}, args...))
}

// Acceleration is how fast the machines of this client are.
func (c *Client) Acceleration() Accel { return c.probe() }

// Dir is where an instance lives, whether it exists or not.
func (c *Client) Dir(name string) string { return filepath.Join(c.config.Home, name) }

// Version is the version of limactl, such as "2.1.3". ErrNotInstalled if there is none.
func (c *Client) Version(ctx context.Context) (string, error) {
	out, err := c.ask(ctx, "--version")
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(out.stdout))
	if len(fields) != 3 || fields[0] != "limactl" {
		return "", fmt.Errorf("limactl --version says %q, which is no version", strings.TrimSpace(string(out.stdout)))
	}
	return strings.TrimPrefix(fields[2], "v"), nil
}

// Validate asks limactl whether it accepts an instance's YAML. A field it does not know is an error, though limactl
// only warns. On Linux it says nothing of what the vz driver itself would want, as it is not part of limactl there.
func (c *Client) Validate(ctx context.Context, yaml []byte) error {
	// From a file: a template read from stdin has no name, and validate wants one.
	dir, err := os.MkdirTemp("", "hermes-box-validate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "box.yaml")
	if err := os.WriteFile(file, yaml, 0o600); err != nil {
		return err
	}
	out, err := c.ask(ctx, "template", "validate", file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out.stderr) {
		if strings.HasPrefix(logField(line, "msg"), "Non-strict YAML") {
			return fmt.Errorf("template: %s", logField(strings.TrimRight(line, "\n"), "error"))
		}
	}
	return nil
}

// program finds limactl.
func (c *Client) program() (string, error) {
	name := c.config.Program
	if name == "" {
		name = "limactl"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return "", &Error{Message: "limactl is not installed", Do: "install Lima 2.1.3 (see the README), then: limactl --version", Err: ErrNotInstalled, Kind: "preflight_failed"}
		}
		return "", fmt.Errorf("limactl: %w", err)
	}
	return path, nil
}

// validName is what Lima takes as an identifier and we hand to it: never a flag, never a path.
var validName = regexp.MustCompile(`^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$`)

func checkName(what, name string) error {
	if len(name) > 76 || !validName.MatchString(name) {
		return &Error{Message: fmt.Sprintf("%s name %q is not one Lima takes", what, name), Do: "use letters, digits and single dashes", Kind: "invalid_input"}
	}
	return nil
}
