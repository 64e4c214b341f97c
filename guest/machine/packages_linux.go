package machine

import (
	"context"
	"errors"
	"strings"
	"time"
)

// InstallPackages installs OS package archives without asking any repository. dpkg gets all of them at once and orders
// them itself. InstallPackages waits while another process holds the lock of dpkg, as is common in the first boot of an
// image.
func (m *Machine) InstallPackages(ctx context.Context, archives []string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	for {
		_, err := m.Run(ctx, Cmd{Path: "dpkg", Args: append([]string{"--force-confdef", "--force-confold", "--install"}, archives...),
			Env:     []string{"PATH=" + SearchPath, "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"},
			Timeout: 25 * time.Minute})
		var exit *ExitError
		if err == nil || !errors.As(err, &exit) || !strings.Contains(exit.Output, "frontend lock") {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(2 * time.Second):
		}
	}
}

// PackageVersion returns the installed version of an OS package; empty if it is not installed.
func (m *Machine) PackageVersion(ctx context.Context, name string) (string, error) {
	out, err := m.Run(ctx, Cmd{Path: "dpkg-query", Args: []string{"--show", "--showformat=${db:Status-Status} ${Version}", "--", name}})
	var exit *ExitError
	if errors.As(err, &exit) && exit.Status == 1 {
		return "", nil // dpkg does not know the package
	}
	if err != nil {
		return "", err
	}
	return installedVersion(string(out)), nil
}

// installedVersion parses the "installed 1.2-3" of dpkg-query. Any other state counts as not installed.
func installedVersion(text string) string {
	state, version, _ := strings.Cut(strings.TrimSpace(text), " ")
	if state != "installed" {
		return ""
	}
	return version
}
