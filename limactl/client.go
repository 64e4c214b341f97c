// Package limactl controls Lima through the command limactl. Its subpackage ssh runs commands inside instances. No
// other package of the product runs limactl or ssh.
//
// This package does not rely on Lima's reports. After a delete it checks that the directory is gone; it restores disk
// locks that Lima removes by mistake; it finds the reason for the status "Broken"; and it checks each pid before Lima
// may kill it. Instances and disks are named exactly: nothing takes a pattern or a prefix.
//
// A Client may be used by several goroutines. It does not serialize changes to one instance: limactl has no lock, so
// the caller must hold one during every sequence that changes something.
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

// Config says which Lima to use and how to run it.
type Config struct {
	Program string        // limactl; empty: looked up in PATH
	Home    string        // LIMA_HOME, absolute; created when it is first needed
	SSH     string        // ssh; empty: looked up in PATH
	Helper  string        // path of the helper inside an instance; empty: it has none
	Log     func(Command) // receives runs of limactl and ssh, from any goroutine; may be nil; see Unlogged
	Env     []string      // environment of limactl and ssh; nil: that of this process. LIMA_* is removed
	Accel   func() Accel  // how VMs of this host are accelerated; nil: Acceleration
}

// Command is one run of limactl or ssh, for the log. It never contains the stdin.
type Command struct {
	Args     []string // with the program
	Inside   string   // for ssh: the command that ran in the instance, without its arguments
	Duration time.Duration
	Status   int // exit status; -1 if it did not start or was killed
	Stderr   string
	Err      error
}

// Client runs limactl and ssh with one LIMA_HOME.
type Client struct {
	*ssh.Client // for commands inside the instances
	config      Config
	env         []string
	probe       func() Accel // Config.Accel; replaced in tests
}

// New returns a client. Programs are looked up by the first call that needs them.
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

// Home returns the LIMA_HOME.
func (c *Client) Home() string { return c.config.Home }

// CommandLine returns the shell command that runs limactl with these arguments and this LIMA_HOME.
func (c *Client) CommandLine(args ...string) string {
	return "LIMA_HOME=" + shellescape.Quote(c.config.Home) + " " + shellescape.QuoteCommand(append([]string{cmp.Or(c.config.Program, "limactl")}, args...))
}

// Acceleration returns how the VMs of this client are accelerated.
func (c *Client) Acceleration() Accel { return c.probe() }

// Dir returns the directory of an instance, whether it exists or not.
func (c *Client) Dir(name string) string { return filepath.Join(c.config.Home, name) }

// Version returns the version of limactl, such as "2.1.3". If there is no limactl the error is ErrNotInstalled.
func (c *Client) Version(ctx context.Context) (string, error) {
	out, err := c.ask(ctx, "--version")
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(out.stdout))
	if len(fields) != 3 || fields[0] != "limactl" {
		return "", fmt.Errorf("limactl --version says %q, which is not a version", strings.TrimSpace(string(out.stdout)))
	}
	return strings.TrimPrefix(fields[2], "v"), nil
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

// validName matches the identifiers that Lima accepts. None of them is a flag or a path.
var validName = regexp.MustCompile(`^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$`)

func checkName(what, name string) error {
	if len(name) > 76 || !validName.MatchString(name) {
		return &Error{Message: fmt.Sprintf("%s name %q is not valid in Lima", what, name), Do: "use letters and digits, with single dashes, dots or underscores between them", Kind: "invalid_input"}
	}
	return nil
}
