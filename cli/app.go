package cli

import (
	"errors"
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
	stdout, stderr io.Writer // for programs that this one runs
	out, errs      *output   // for the text of this program

	configFlag          string
	json, events, quiet bool
	ascii               bool
	screen              *screen // of a sign-in in progress; otherwise nil
	color               string
	demo                bool
	mirrors             []string // --mirror
	keyStore            string   // --key-store

	rehearsal *demo.Demo // the demo, once it is open

	began      bool        // a command has begun: cobra has accepted the flags and the arguments
	changes    atomic.Bool // the command runs an operation, which an interruption undoes or lets finish
	readsOnly  bool        // the command only reads backups, which needs no limactl
	follows    bool        // the command runs until it is interrupted
	handedOver atomic.Bool // another program has the terminal, and handles ctrl-c itself
	remote     bool        // the exit status is that of a command in the box
	helpErr    error       // the error of the help function, which cannot return one
	box        string

	commands boxCommands // used by typed
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
		return fault.New(fault.InvalidInput, "--color is %q; it must be auto, always or never", a.color).Hint("--color=auto")
	}
	return nil
}

// useASCII makes text ASCII if --ascii is given or the locale is not UTF-8. JSON is always UTF-8.
func (a *app) useASCII() {
	a.ascii = a.ascii || !widget.UTF8Locale(os.Getenv)
	a.out.ascii, a.errs.ascii = a.ascii && !a.json, a.ascii && !a.events
}

// host returns the host that the flags and the environment select.
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
		if err := runas.Owner(dir); err != nil && !(a.readsOnly && errors.Is(err, runas.ErrRoot)) {
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
		Helper:      helper,
		AfterStep:   testOnlyAfterStep,
		Patience:    testOnlyPatience,
		ForwardWait: testOnlyForwardWait,
		KeyStore:    testOnlyKeyStore,

		PassphraseWork: testOnlyPassphraseWork,
	}, nil
}

// openBox opens the box that the command works on.
func (a *app) openBox() (*ops.Box, error) { return a.boxBy((*ops.Host).Open) }

// openDamaged is openBox for commands that also work with a damaged record of the box.
func (a *app) openDamaged() (*ops.Box, error) { return a.boxBy((*ops.Host).OpenDamaged) }

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

// configPath returns the path of the config. With --demo, call host first.
func (a *app) configPath() (string, error) {
	if a.demo {
		return a.rehearsal.Config, nil
	}
	path, err := config.Locate(a.configFlag)
	if err == nil || a.configFlag != "" || os.Getenv(config.EnvPath) != "" {
		return path, err
	}
	// A user who already has a box is probably in the wrong directory: suggest the right one, not a second config.
	if home, homeErr := homeDir(); homeErr == nil {
		var there []string
		for _, dir := range store.At(home).ConfigDirs() {
			there = append(there, "cd "+shellescape.Quote(dir))
		}
		if len(there) > 0 {
			return "", fault.New(fault.InvalidInput, "%w", err).
				Hint("to go to a directory where a box is configured: %s; or use --config FILE", strings.Join(there, ", or "))
		}
	}
	return "", err
}

// Set only by the test binary.
var (
	testOnlyAfterStep   func(step string)                 // crash tests end the process after a step
	testOnlyHelper      func(arch string) ([]byte, error) // replaces the helper that this program carries
	testOnlyStayRoot    bool                              // root does not become another user: the stand-in for limactl accepts root
	testOnlyPatience    time.Duration                     // replaces the time to wait for limactl
	testOnlyForwardWait time.Duration                     // replaces the time to wait for forwarded ports
	testOnlyKeyStore    string                            // keeps the keys of tests out of the user's keyring

	testOnlyPassphraseWork int // makes passphrases cheap in tests: the default takes a second
)
