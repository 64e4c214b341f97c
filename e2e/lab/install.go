package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// install puts limactl where a person's shell finds it, unless one is there: whoever installed that keeps it.
func (l *lab) install(ctx context.Context, out io.Writer) error {
	if found, err := exec.LookPath("limactl"); err == nil {
		fmt.Fprintf(out, "limactl is there already: %s\n", found)
		return nil
	}
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
	// cp --remove-destination, so that a limactl that runs keeps its file.
	for _, part := range []string{"bin/limactl", "share/lima"} {
		c := exec.CommandContext(ctx, "cp", "-rT", "--remove-destination", l.path("lima", part), filepath.Join(prefix, part))
		if msg, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("install %s: %w: %s", part, err, msg)
		}
	}
	fmt.Fprintf(out, "installed Lima into %s\n", prefix)
	if _, err := exec.LookPath("limactl"); err != nil {
		fmt.Fprintf(out, "put %s on your PATH\n", filepath.Join(prefix, "bin"))
	}
	return nil
}
