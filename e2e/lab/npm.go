package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// npmStep fetches the npm packages of a component.
func npmStep(component string) step {
	return step{
		name:    component,
		product: "mirror/" + component,
		recipe:  append([]string{"npm", "1"}, npmPackages[component]...),
		after:   []string{"host tools"},
		make: func(b *build, ctx context.Context) error {
			files, err := b.npmPack(ctx, npmPackages[component]...)
			if err != nil {
				return err
			}
			return b.record(files)
		},
	}
}

// npmPack fetches packages into the product and returns the integrity that npm reports for each.
func (b *build) npmPack(ctx context.Context, packages ...string) ([]file, error) {
	argv := append([]string{"npm", "pack", "--json", "--ignore-scripts", "--cache", filepath.Join(b.tmp, "npm"), "--pack-destination", b.dir}, packages...)
	out, err := b.output(ctx, cmd{argv: argv, dir: b.tmp, env: []string{"npm_config_update_notifier=false"}})
	if err != nil {
		return nil, err
	}
	return parseNPMPack(out)
}

// parseNPMPack reads the output of `npm pack --json`.
func parseNPMPack(out []byte) ([]file, error) {
	var packed []struct {
		Name, Version, Filename, Integrity string
		Size                               int64
	}
	if err := json.Unmarshal(out, &packed); err != nil {
		return nil, fmt.Errorf("npm pack --json: %w", err)
	}
	var files []file
	for _, p := range packed {
		if !strings.HasPrefix(p.Integrity, "sha512-") {
			return nil, fmt.Errorf("npm pack --json: %s has the integrity %q, not a sha512", p.Name, p.Integrity)
		}
		// Before version 9 npm reports the file of a scoped package as @scope/name, but writes scope-name.
		name := strings.ReplaceAll(strings.TrimPrefix(p.Filename, "@"), "/", "-")
		if !plainName(name) {
			return nil, fmt.Errorf("npm pack --json: %s has the file name %q", p.Name, p.Filename)
		}
		files = append(files, file{Name: name, Package: p.Name, Version: p.Version, Size: p.Size, Digest: p.Integrity})
	}
	return files, nil
}
