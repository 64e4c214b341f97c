package guest_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes-box/guest/machine"
)

// The swap file is made once and completely: after a failed run there is no incomplete file under its name.
func TestBootstrapSwap(t *testing.T) {
	b := newRoot(t, blankDisk)
	b.write("/proc/meminfo", "MemTotal:        4009000 kB\nMemAvailable:    3600000 kB\n")
	var ran []string
	b.sys.Programs = map[string]func(machine.Cmd) ([]byte, error){}
	fails := ""
	for _, name := range []string{"fallocate", "mkswap", "sync"} {
		b.sys.Programs[name] = func(c machine.Cmd) ([]byte, error) {
			if name == fails {
				return nil, errors.New("sabotage")
			}
			ran = append(ran, name+" "+strings.Join(c.Args[:len(c.Args)-1], " ")+" "+filepath.Base(c.Args[len(c.Args)-1]))
			return nil, nil
		}
	}
	for _, fails = range []string{"fallocate", "mkswap", "sync"} {
		if _, err := b.Bootstrap(t.Context(), askFormat()); err == nil || b.has("/swapfile") || b.has("/swapfile.new") {
			t.Errorf("%s fails: %v; want an error and no swap file", fails, err)
		}
	}
	fails, ran = "", nil
	for range 2 {
		_, err := b.Bootstrap(t.Context(), askFormat())
		must(t, err)
	}
	if want := []string{"fallocate --length 2052063232 swapfile.new", "mkswap --quiet swapfile.new", "sync  swapfile.new"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	did := b.sys.Did()
	if !b.has("/swapfile") || !slices.Contains(did, "enable swapfile.swap") || !slices.Contains(did, "start swapfile.swap") {
		t.Errorf("the swap file is not used: %q", did)
	}
}
