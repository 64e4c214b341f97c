package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// install puts Lima and a link to the hermes-box of the current directory into /usr/local or, for an ordinary user,
// into ~/.local. It does not install a program that is on the PATH already.
func (l *lab) install(ctx context.Context, out io.Writer) error {
	prefix := "/usr/local"
	if os.Geteuid() != 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		prefix = filepath.Join(home, ".local")
	}
	for _, dir := range []string{"bin", "share/lima"} {
		if err := os.MkdirAll(filepath.Join(prefix, dir), 0o755); err != nil {
			return err
		}
	}
	if err := l.installLima(ctx, prefix, out); err != nil {
		return err
	}
	if err := link("hermes-box", filepath.Join(prefix, "bin"), out); err != nil {
		return err
	}
	if _, err := exec.LookPath("hermes-box"); err != nil {
		fmt.Fprintf(out, "put %s on your PATH\n", filepath.Join(prefix, "bin"))
	}
	return nil
}

func (l *lab) installLima(ctx context.Context, prefix string, out io.Writer) error {
	if found, err := exec.LookPath("limactl"); err == nil {
		fmt.Fprintf(out, "limactl is there already: %s\n", found)
		return nil
	}
	// --remove-destination lets a running limactl keep its file.
	for _, part := range []string{"bin/limactl", "share/lima"} {
		c := exec.CommandContext(ctx, "cp", "-rT", "--remove-destination", l.path("lima", part), filepath.Join(prefix, part))
		if msg, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("install %s: %w: %s", part, err, msg)
		}
	}
	fmt.Fprintf(out, "installed Lima into %s\n", prefix)
	return nil
}

// link makes a link in dir to a program of the current directory, unless a program of that name is on the PATH or dir
// has a file of that name.
func link(program, dir string, out io.Writer) error {
	if found, err := exec.LookPath(program); err == nil {
		fmt.Fprintf(out, "%s is there already: %s\n", program, found)
		return nil
	}
	from, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, program)
	if err := os.Symlink(from, to); errors.Is(err, fs.ErrExist) {
		fmt.Fprintf(out, "%s is left as it is\n", to)
		return nil
	} else if err != nil {
		return err
	}
	fmt.Fprintf(out, "linked %s to %s\n", to, from)
	return nil
}
