package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// pipStep fetches wheels for the guest's Python. pins has one "name==version" on each line.
func pipStep(component, pins string) step {
	return step{
		name:    component,
		product: "mirror/" + component,
		recipe:  append([]string{"pip", "1", pins}, pipTarget()...),
		after:   []string{"host tools"},
		make:    func(b *build, ctx context.Context) error { return b.wheels(ctx, pins) },
	}
}

// pipTarget returns the options that select the guest's Python and system.
func pipTarget() []string {
	// pip install may compare Requires-Python with the Python that runs pip, but the pins are for the guest's Python.
	args := []string{"--only-binary=:all:", "--no-deps", "--ignore-requires-python", "--implementation", "cp", "--python-version", guestPython}
	for _, abi := range []string{"cp" + strings.ReplaceAll(guestPython, ".", ""), "abi3", "none"} {
		args = append(args, "--abi", abi)
	}
	for _, minor := range glibcMinors {
		args = append(args, "--platform", fmt.Sprintf("manylinux_2_%d_x86_64", minor))
	}
	return args
}

func (b *build) wheels(ctx context.Context, pins string) error {
	requirements := filepath.Join(b.tmp, "requirements.txt")
	if err := os.WriteFile(requirements, []byte(pins), 0o644); err != nil {
		return err
	}
	report := filepath.Join(b.tmp, "report.json")
	pip := func(verb ...string) cmd {
		argv := append([]string{"python3", "-m", "pip"}, verb...)
		argv = append(argv, pipTarget()...)
		return cmd{argv: append(argv, "--progress-bar", "off", "--cache-dir", filepath.Join(b.tmp, "pip"), "--requirement", requirements), dir: b.tmp,
			env: []string{"PIP_DISABLE_PIP_VERSION_CHECK=1"}}
	}
	// The first run reports the digests. The second downloads the bytes, from the cache of the first.
	if err := b.exec(ctx, pip("install", "--dry-run", "--ignore-installed", "--target", filepath.Join(b.tmp, "none"), "--report", report)); err != nil {
		return err
	}
	if err := b.exec(ctx, pip("download", "--dest", b.dir)); err != nil {
		return err
	}
	data, err := os.ReadFile(report)
	if err != nil {
		return err
	}
	files, err := parsePipReport(data)
	if err != nil {
		return err
	}
	if want := len(strings.Fields(pins)); len(files) != want {
		return fmt.Errorf("pip reports %d wheels for %d pins", len(files), want)
	}
	return b.record(files)
}

// parsePipReport reads an installation report of pip.
func parsePipReport(data []byte) ([]file, error) {
	var report struct {
		Install []struct {
			Metadata struct{ Name, Version string }
			Download struct {
				URL     string
				Archive struct {
					Hashes map[string]string
				} `json:"archive_info"`
			} `json:"download_info"`
		}
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("pip's report: %w", err)
	}
	var files []file
	for _, i := range report.Install {
		u, err := url.Parse(i.Download.URL)
		if err != nil {
			return nil, fmt.Errorf("pip's report: the URL of %s: %w", i.Metadata.Name, err)
		}
		name, sum := path.Base(u.Path), i.Download.Archive.Hashes["sha256"]
		if !strings.HasSuffix(name, ".whl") || !plainName(name) || sum == "" {
			return nil, fmt.Errorf("pip's report: %s is the file %q with the sha256 %q", i.Metadata.Name, name, sum)
		}
		files = append(files, file{Name: name, Package: i.Metadata.Name, Version: i.Metadata.Version, Digest: "sha256:" + sum})
	}
	return files, nil
}
