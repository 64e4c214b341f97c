package guest

import (
	"context"
	"errors"
	"strings"
	"time"
)

// InstallPackages gives all archives to dpkg at once, which orders them itself. It waits for whoever else holds
// dpkg's lock: a fresh image is often still busy with itself.
func (m *machine) InstallPackages(ctx context.Context, archives []string) error {
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

func (m *machine) PackageVersion(ctx context.Context, name string) (string, error) {
	out, err := m.Run(ctx, Cmd{Path: "dpkg-query", Args: []string{"--show", "--showformat=${db:Status-Status} ${Version}", "--", name}})
	var exit *ExitError
	if errors.As(err, &exit) && exit.Status == 1 {
		return "", nil // never heard of
	}
	if err != nil {
		return "", err
	}
	return installedVersion(string(out)), nil
}

// installedVersion reads dpkg-query's "installed 1.2-3"; any other state is not installed.
func installedVersion(text string) string {
	state, version, _ := strings.Cut(strings.TrimSpace(text), " ")
	if state != "installed" {
		return ""
	}
	return version
}
