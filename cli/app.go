package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"hermes-box/assets"
	"hermes-box/guest/protocol"
	"hermes-box/internal/rehearsal/demo"
	"hermes-box/internal/runas"
	"hermes-box/limactl"
	"hermes-box/ops"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
	"hermes-box/tui/widget"
)

// app is one run of the program: its streams, its flags and the box it works on.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer // for programs that are given them
	out, errs      *output   // for our own text

	configFlag          string
	json, events, quiet bool
	ascii               bool
	screen              *screen // of the sign-in; nil: there is none
	color               string
	demo                bool
	mirrors             []string // of create

	rehearsal *demo.Demo // the demo, once it is open

	began   bool        // a command has begun: errors are no longer usage errors
	changes atomic.Bool // the command changes the box: an interruption undoes it first
	follows bool        // the command runs until it is interrupted
	lent    atomic.Bool // another program has the terminal, and handles ctrl-c itself
	remote  bool        // the exit status is that of a command in the box
	helpErr error       // of help, whose function returns none
	box     string

	commands boxCommands // for typed
}

// rawOutput marks commands whose stdout cannot be JSON.
const rawOutput = "raw-output"

// prepare checks the flags that all commands share.
func (a *app) prepare(cmd *cobra.Command) error {
	if a.json && cmd.Annotations[rawOutput] != "" {
		return fault.New(fault.InvalidInput, "%s does not take --json", cmd.Name()).
			Hint("run it without --json")
	}
	if a.events && a.quiet {
		return fault.New(fault.InvalidInput, "--events and --quiet exclude each other").Hint("give one of them")
	}
	a.useASCII()
	switch a.color {
	case "auto", "always", "never":
	default:
		return fault.New(fault.InvalidInput, "--color %q: auto, always or never", a.color).Hint("--color=auto")
	}
	return nil
}

// useASCII makes text ASCII where it was asked for or the locale has no UTF-8. JSON is UTF-8 everywhere.
func (a *app) useASCII() {
	a.ascii = a.ascii || !widget.UTF8Locale(os.Getenv)
	a.out.ascii, a.errs.ascii = a.ascii && !a.json, a.ascii && !a.events
}

// host returns the host by the environment.
func (a *app) host() (*ops.Host, error) {
	if a.demo {
		return a.demoHost()
	}
	dir, err := homeDir()
	if err != nil {
		return nil, err
	}
	if err := needHome(); err != nil {
		return nil, err
	}
	if !testOnlyStayRoot {
		if err := runas.Owner(dir); err != nil {
			return nil, err
		}
	}
	helper := assets.Helper
	if testOnlyHelper != nil {
		helper = testOnlyHelper
	}
	return &ops.Host{
		Dir: dir,
		Lima: limactl.New(limactl.Config{
			Program: os.Getenv("HERMES_BOX_LIMACTL"),
			Helper:  protocol.HelperPath,
			Home:    filepath.Join(dir, "lima"),
			Log:     ops.CommandLog(dir),
		}),
		Helper:    helper,
		AfterStep: testOnlyAfterStep,
		Patience:  testOnlyPatience,
	}, nil
}

// openBox opens the box that the command works on.
func (a *app) openBox() (*ops.Box, error) { return a.boxBy((*ops.Host).Open) }

// openDamaged is openBox for commands that also work with a damaged record of the box.
func (a *app) openDamaged() (*ops.Box, error) { return a.boxBy((*ops.Host).Look) }

func (a *app) boxBy(open func(h *ops.Host, path string) (*ops.Box, error)) (*ops.Box, error) {
	h, err := a.host()
	if err != nil {
		return nil, err
	}
	path, err := a.configPath()
	if err != nil {
		return nil, err
	}
	b, err := open(h, path)
	if err != nil {
		return nil, err
	}
	a.box = b.Name()
	return b, nil
}

// configPath returns the path of the config. With --demo, host has to be called before.
func (a *app) configPath() (string, error) {
	if a.demo {
		return a.rehearsal.Config, nil
	}
	path, err := config.Locate(a.configFlag)
	if err == nil || a.configFlag != "" || os.Getenv(config.EnvPath) != "" {
		return path, err
	}
	// Somebody who already has a box is in the wrong directory, and does not need a second config.
	if home, homeErr := homeDir(); homeErr == nil {
		var there []string
		for _, dir := range store.At(home).ConfigDirs() {
			there = append(there, "cd "+shellescape.Quote(dir))
		}
		if len(there) > 0 {
			return "", fault.New(fault.InvalidInput, "%w", err).
				Hint("%s, where a box is configured; or use --config FILE", strings.Join(there, ", or "))
		}
	}
	return "", err
}

// Set only by the test binary.
var (
	testOnlyAfterStep func(step string)                 // crash tests end the process after a step
	testOnlyHelper    func(arch string) ([]byte, error) // replaces the helper that this program carries
	testOnlyStayRoot  bool                              // the rehearsal limactl runs as root
	testOnlyPatience  time.Duration                     // replaces how long limactl is waited for
)
