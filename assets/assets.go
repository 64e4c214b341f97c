// Package assets is what the host binary carries for its guests: the static helper of each architecture,
// compressed. The helpers are made by `make build`, never committed.
package assets

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/klauspost/compress/zstd"
)

// all: keeps the pattern valid when the README is the only file there.
//
//go:embed all:helper
var files embed.FS

// missing is a build without the helper that was asked for.
type missing struct{ arch string }

func (m *missing) Error() string    { return "this build carries no guest helper for " + m.arch }
func (m *missing) Code() string     { return "preflight_failed" }
func (m *missing) Recovery() string { return "make build" }

// Name is the file name of the helper for arch below assets/helper.
func Name(arch string) string { return "hermes-box-guest-linux-" + arch + ".zst" }

// Helper is the guest helper for arch, amd64 or arm64: a static linux executable. It is decompressed at each
// call, so keep the result rather than asking twice.
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
