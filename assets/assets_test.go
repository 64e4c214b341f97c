package assets

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
)

func TestHelper(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("helper"), 1000)
	packed := enc.EncodeAll(want, nil)
	in := fstest.MapFS{
		"helper/" + Name("amd64"): {Data: packed},
		"helper/" + Name("arm64"): {Data: packed[:len(packed)/2]},
	}
	got, err := helper(in, "amd64")
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("helper(amd64) = %d bytes, %v; want %d bytes", len(got), err, len(want))
	}
	if _, err := helper(in, "arm64"); err == nil || !strings.Contains(err.Error(), "arm64 is damaged") {
		t.Errorf("a truncated helper: %v", err)
	}
	for _, arch := range []string{"riscv64", "", "../x"} {
		_, err := helper(in, arch)
		var hint interface{ Recovery() string }
		if !errors.As(err, &hint) || hint.Recovery() != "make build" {
			t.Errorf("helper(%q): %v; want an error that says make build", arch, err)
		}
	}
}

// The embedded directory must be readable in any build, with or without helpers in it.
func TestEmbedded(t *testing.T) {
	if _, err := files.ReadFile("helper/README"); err != nil {
		t.Fatal(err)
	}
	if _, err := Helper("none"); err == nil || !strings.Contains(err.Error(), "no guest helper for none") {
		t.Errorf("Helper(none): %v", err)
	}
}
