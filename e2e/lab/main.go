// Lab fetches and builds everything a real box needs on a Debian machine: limactl at the version that the lock pins, a
// guest image, the six components at pinned versions, and the lock itself. It serves the image and the components on
// loopback.
//
// It fetches packages by name and version, with the ordinary clients: apt, npm, pip and go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// defaultPort is the port the lab serves on. The lock's urls name it, so it is the same for every run.
const defaultPort = 47880

func main() {
	var status exitStatus
	switch err := command().ExecuteContext(context.Background()); {
	case err == nil:
	case errors.As(err, &status):
		os.Exit(int(status))
	default:
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// exitStatus is the status of a command that failed and printed the reason itself.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func command() *cobra.Command {
	var l lab
	root := &cobra.Command{
		Use:           "lab",
		Short:         "Make and serve what a real box needs",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&l.dir, "cache", defaultCache(), "directory of the cache (HERMES_BOX_LAB)")
	root.PersistentFlags().IntVar(&l.port, "port", defaultPort, "loopback port in the URLs of the lock")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		dir, err := filepath.Abs(l.dir)
		l.dir = dir
		return err
	}
	root.AddCommand(
		&cobra.Command{
			Use:   "prepare",
			Short: "Fetch and build what is missing",
			Args:  cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				ctx, stop := interruptible()
				defer stop()
				return l.prepare(ctx, os.Stdout)
			},
		},
		&cobra.Command{
			Use:   "run -- COMMAND [ARG...]",
			Short: "Serve the cache while COMMAND runs, and exit with its status",
			Args:  cobra.MinimumNArgs(1),
			RunE:  func(_ *cobra.Command, args []string) error { return l.run(context.Background(), args) },
		},
		&cobra.Command{
			Use:   "serve",
			Short: "Serve the cache until interrupted",
			Args:  cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				ctx, stop := interruptible()
				defer stop()
				return l.serve(ctx)
			},
		},
		&cobra.Command{
			Use:   "install",
			Short: "Put limactl and hermes-box on the PATH, unless they are there",
			Args:  cobra.NoArgs,
			RunE:  func(c *cobra.Command, _ []string) error { return l.install(c.Context(), os.Stdout) },
		},
		&cobra.Command{
			Use:   "user",
			Short: "Print the ordinary user that runs Lima; as root, create that user if it is missing",
			Args:  cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				name, err := ordinaryUser(c.Context())
				if err == nil {
					fmt.Println(name)
				}
				return err
			},
		},
	)
	return root
}

// lab is a cache and the port it is served on.
type lab struct {
	dir  string
	port int
}

func (l *lab) path(elem ...string) string { return filepath.Join(append([]string{l.dir}, elem...)...) }

func defaultCache() string {
	if dir := os.Getenv("HERMES_BOX_LAB"); dir != "" {
		return dir
	}
	if os.Geteuid() == 0 {
		return "/var/cache/hermes-box-lab"
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "hermes-box-lab"
	}
	return filepath.Join(dir, "hermes-box-lab")
}

func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// labUser owns the boxes when root runs the lab, because limactl refuses to run as root.
const labUser = "hermes-box"

func ordinaryUser(ctx context.Context) (string, error) {
	if os.Geteuid() != 0 {
		out, err := exec.CommandContext(ctx, "id", "-un").Output()
		return firstLine(out), err
	}
	if exec.CommandContext(ctx, "id", "-u", labUser).Run() == nil {
		return labUser, nil
	}
	out, err := exec.CommandContext(ctx, "useradd", "--create-home", "--home-dir", "/home/"+labUser, "--shell", "/bin/bash", labUser).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make the user %s: %w: %s", labUser, err, firstLine(out))
	}
	return labUser, nil
}
