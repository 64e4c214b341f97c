package cli

import (
	"errors"
	"os"
	"testing"

	"hermes-box/internal/runas"
)

// Root, whom limactl refuses, can read the backups in a state directory of its own, but do nothing else there.
func TestRootReadsBackups(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT CHECKED: needs root")
	}
	testOnlyStayRoot = false
	defer func() { testOnlyStayRoot = true }()
	t.Setenv(homeName, t.TempDir())
	if _, err := (&app{}).host(); !errors.Is(err, runas.ErrRoot) {
		t.Errorf("a command that needs limactl: %v", err)
	}
	if _, err := (&app{readsOnly: true}).host(); err != nil {
		t.Errorf("a command that reads backups: %v", err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("hermes-box.yaml", []byte("schema: 1\nname: main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]int{"list": exitOK, "verify": exitFailed} {
		if status := Main([]string{"backup", args}, os.Stdin, os.Stderr, os.Stderr); status != want {
			t.Errorf("backup %s: %d, want %d", args, status, want)
		}
	}
}
