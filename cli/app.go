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

// app is one run of the program: its streams, its flags, and what it works on.
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

	rehearsal *demo.Demo // with --demo, once it is open

	began   bool        // a command of ours has begun: errors are no longer of usage
	changes atomic.Bool // it changes the box: an interruption has to be waited for
	follows bool        // it goes on until it is interrupted
	lent    atomic.Bool // the terminal, to a program that hears an interruption itself
	remote  bool        // the exit status is that of a command in the box
	helpErr error       // of help, which cobra lets return none
	box     string

	commands boxCommands // what typed looks for
}

// rawOutput marks commands whose stdout is not ours to wrap in JSON.
const rawOutput = "raw-output"

// prepare checks the flags that all commands share, and leaves root where Lima would refuse it.
func (a *app) prepare(cmd *cobra.Command) error {
	if a.json && cmd.Annotations[rawOutput] != "" {
		return fault.New(fault.InvalidInput, "%s does not take --json: its output is not ours", cmd.Name()).
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

// host is the machine as the environment describes it.
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

// openBox reads what the command works on.
func (a *app) openBox() (*ops.Box, error) { return a.boxBy((*ops.Host).Open) }

// lookAtBox is openBox for commands that are of use also where the record of the box is damaged.
func (a *app) lookAtBox() (*ops.Box, error) { return a.boxBy((*ops.Host).Look) }

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

// configPath is the config that is worked on; the host comes first.
func (a *app) configPath() (string, error) {
	if a.demo {
		return a.rehearsal.Config, nil
	}
	path, err := config.Locate(a.configFlag)
	if err == nil || a.configFlag != "" || os.Getenv(config.EnvPath) != "" {
		return path, err
	}
	// Whoever has a box already is in the wrong directory, and does not want a second config.
	if home, homeErr := homeDir(); homeErr == nil {
		var there []string
		for _, dir := range store.Look(home).ConfigDirs() {
			there = append(there, "cd "+shellescape.Quote(dir))
		}
		if len(there) > 0 {
			return "", fault.New(fault.InvalidInput, "%w", err).
				Hint("%s: a box is configured there; or name the file: --config FILE", strings.Join(there, ", or "))
		}
	}
	return "", err
}

// Set by the test binary alone.
var (
	testOnlyAfterStep func(step string)                 // crash tests end the process after a step
	testOnlyHelper    func(arch string) ([]byte, error) // stands for the helper this program carries
	testOnlyStayRoot  bool                              // the rehearsal limactl does not mind root
	testOnlyPatience  time.Duration                     // stands for how long limactl is waited for
)
