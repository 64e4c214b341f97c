package lock

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hermes-box/ops/fault"
)

// Load refuses a pipe without a writer and an endless device, without reading them.
func TestLoadReadsRegularFilesOnly(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), FileName)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero", t.TempDir()} {
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), "not a regular file") || fault.CodeOf(err) != fault.InvalidInput || !strings.Contains(fault.HintOf(err), path) {
			t.Errorf("%s: %v, hint %q", path, err, fault.HintOf(err))
		}
	}
}
