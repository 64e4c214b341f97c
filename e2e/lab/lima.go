package main

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
)

const limaModule = "github.com/lima-vm/lima/v2"

// limaStep builds limactl and its Linux guest agent, in the directories where limactl expects them.
func limaStep() step {
	return step{
		name:    "lima",
		product: "lima",
		recipe:  []string{limaModule, limaVersion, "1"},
		make:    (*build).lima,
	}
}

func (b *build) lima(ctx context.Context) error {
	dir, err := checkout(ctx)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "e2e", "limactl")
	// Without -X limactl reports its version as unknown.
	limactl := cmd{
		argv: []string{"go", "build", "-trimpath", "-ldflags", "-s -w -X " + limaModule + "/pkg/version.Version=" + limaVersion,
			"-o", filepath.Join(b.dir, "bin", "limactl"), limaModule + "/cmd/limactl"},
		dir: dir,
		env: []string{"GOFLAGS=-mod=readonly", "GOWORK=off"},
	}
	if err := b.exec(ctx, limactl); err != nil {
		return err
	}
	agent := filepath.Join(b.tmp, "lima-guestagent")
	guestagent := cmd{
		argv: []string{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", agent, limaModule + "/cmd/lima-guestagent"},
		dir:  dir,
		env:  []string{"GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64"},
	}
	if err := b.exec(ctx, guestagent); err != nil {
		return err
	}
	share := filepath.Join(b.dir, "share", "lima")
	if err := os.MkdirAll(share, 0o755); err != nil {
		return err
	}
	return compressFile(agent, filepath.Join(share, "lima-guestagent.Linux-x86_64.gz"))
}

func compressFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	zip := gzip.NewWriter(out)
	if _, err := io.Copy(zip, in); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return out.Close()
}
