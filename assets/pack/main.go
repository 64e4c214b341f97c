// Command pack compresses the guest helper for embedding: pack FROM TO. The same input gives the same output. If TO
// has that content already, it is not written, so that make and the Go build cache see no change.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/klauspost/compress/zstd"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pack FROM TO")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(from, to string) error {
	plain, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	packed := enc.EncodeAll(plain, nil)
	if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, packed) {
		return nil
	}
	beside := to + ".new"
	if err := os.WriteFile(beside, packed, 0o644); err != nil {
		return err
	}
	return os.Rename(beside, to)
}
