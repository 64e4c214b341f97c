package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

func TestPack(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a"), filepath.Join(dir, "a.zst")
	want := bytes.Repeat([]byte("some helper "), 10_000)
	if err := os.WriteFile(from, want, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := pack(from, to); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	if got, err := dec.DecodeAll(first, nil); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	old := time.Unix(1_700_000_000, 0)
	if err := os.Chtimes(to, old, old); err != nil {
		t.Fatal(err)
	}
	if err := pack(from, to); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || !info.ModTime().Equal(old) {
		t.Error("the same bytes were written again")
	}
	if err := pack(filepath.Join(dir, "none"), to); err == nil {
		t.Error("no error for a missing file")
	}
}
