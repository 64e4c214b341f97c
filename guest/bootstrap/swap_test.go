package bootstrap

import (
	"testing"

	"hermes-box/guest/protocol"
)

// The size of the swap file depends on the memory and on the free space of the root disk.
func TestSwapSize(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for _, c := range []struct{ memory, free, want int64 }{
		{8 * gib, 28 * gib, 4 * gib}, {64 * gib, 100 * gib, 4 * gib}, {4009000 << 10, 18 * gib, 1957 * mib},
		{8 * gib, 2 * gib, 512 * mib}, {8 * gib, 400 * mib, 0}, {0, 28 * gib, 0},
	} {
		if got := swapSize(c.memory, protocol.Usage{Used: gib, Total: gib + c.free}); got != c.want {
			t.Errorf("memory %d, free %d: %d, want %d", c.memory, c.free, got, c.want)
		}
	}
}
