// Package assets embeds the guest helper in the host binary: a static executable for each architecture, compressed.
// `make build` makes the helpers; they are not committed.
package assets

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/klauspost/compress/zstd"
)

// helper/README is committed, so the pattern matches a file even before `make build` has made the helpers.
//
//go:embed all:helper
var files embed.FS

// missing is the error of a build without the helper for an architecture.
type missing struct{ arch string }

func (m *missing) Error() string    { return "this build carries no guest helper for " + m.arch }
func (m *missing) Code() string     { return "preflight_failed" }
func (m *missing) Recovery() string { return "make build" }

// Name returns the name of the file in assets/helper that holds the helper for arch.
func Name(arch string) string { return "hermes-box-guest-linux-" + arch + ".zst" }

// Helper returns the guest helper for arch, amd64 or arm64: a static Linux executable. Each call decompresses it again.
func Helper(arch string) ([]byte, error) { return helper(files, arch) }

func helper(in fs.FS, arch string) ([]byte, error) {
	packed, err := fs.ReadFile(in, "helper/"+Name(arch))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, &missing{arch}
	}
	if err != nil {
		return nil, fmt.Errorf("guest helper for %s: %w", arch, err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return nil, fmt.Errorf("guest helper for %s: %w", arch, err)
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("guest helper for %s is damaged: %w", arch, err)
	}
	return plain, nil
}
