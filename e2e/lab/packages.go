package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// packagesStep fetches the extra OS packages from the sources of the image.
func packagesStep() step {
	return step{
		name:    "packages",
		product: "packages",
		recipe:  append([]string{guestSuite, "1"}, extraPackages...),
		after:   []string{"image"},
		make:    (*build).packages,
	}
}

func (b *build) packages(ctx context.Context) error {
	// Run apt for the guest's suite, with all of its state below tmp.
	root := filepath.Join(b.tmp, "apt")
	for _, dir := range []string{"etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/lib/dpkg"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	status := filepath.Join(root, "var/lib/dpkg/status")
	if err := os.WriteFile(status, nil, 0o644); err != nil {
		return err
	}
	options := []string{"-q", "-o", "Dir=" + root, "-o", "Dir::Etc::sourcelist=" + b.lab.path("image", "sources.list"),
		"-o", "Dir::Etc::trusted=/usr/share/keyrings/debian-archive-keyring.gpg", "-o", "Dir::State::status=" + status,
		"-o", "APT::Architecture=amd64", "-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none"}
	apt := func(verb ...string) cmd {
		return cmd{argv: append(append([]string{"apt-get"}, options...), verb...), dir: b.dir}
	}
	if err := b.exec(ctx, apt("update")); err != nil {
		return err
	}
	uris, err := b.output(ctx, apt(append([]string{"download", "--print-uris"}, extraPackages...)...))
	if err != nil {
		return err
	}
	if err := b.exec(ctx, apt(append([]string{"download"}, extraPackages...)...)); err != nil {
		return err
	}
	files, err := parseURIs(string(uris))
	if err != nil {
		return err
	}
	return b.record(files)
}

// parseURIs reads the output of `apt-get download --print-uris`: 'uri' file size hash.
func parseURIs(text string) ([]file, error) {
	var files []file
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || !strings.HasPrefix(f[0], "'") {
			continue
		}
		if len(f) != 4 {
			return nil, fmt.Errorf("apt-get --print-uris: %q is not 'uri' file size hash", strings.TrimSpace(line))
		}
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("apt-get --print-uris: size of %s: %w", f[1], err)
		}
		sum, ok := strings.CutPrefix(f[3], "SHA256:")
		if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != 32 {
			return nil, fmt.Errorf("apt-get --print-uris: %s has %q, not a SHA256", f[1], f[3])
		}
		// The file is named package_version_arch.deb. A colon in the version is written %3a.
		parts := strings.Split(f[1], "_")
		if len(parts) != 3 || !plainName(f[1]) {
			return nil, fmt.Errorf("apt-get --print-uris: %s is not package_version_arch.deb", f[1])
		}
		files = append(files, file{
			Name: f[1], Package: parts[0], Version: strings.ReplaceAll(parts[1], "%3a", ":"),
			Size: size, Digest: "sha256:" + sum,
		})
	}
	return files, nil
}
