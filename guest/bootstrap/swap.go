package bootstrap

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// The swap file is on the root disk: on the data disk it would be part of every backup.
const (
	swapFile = "/swapfile"
	swapUnit = "swapfile.swap"
)

// Bounds of the size of the swap file, in bytes. A swap file larger than maxSwap would only delay the kill of a program
// that uses more and more memory.
const (
	minSwap = 128 << 20
	maxSwap = 4 << 30
)

// swap makes the swap file and turns it on. An existing file is complete and is not changed. If swapSize returns 0,
// swap makes no file.
func (b *run) swap(ctx context.Context) (bool, error) {
	path := b.Path(swapFile)
	_, err := os.Stat(path)
	if err == nil {
		return false, b.Machine.StartUnit(ctx, swapUnit)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	meminfo, _ := os.ReadFile(b.Path("/proc/meminfo")) // without it the size is 0
	ram, _ := machine.Memory(string(meminfo))
	size := swapSize(ram.Total, b.Machine.Usage(b.Path("/")))
	if size == 0 {
		return false, nil
	}
	beside := path + ".new"
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return false, err
	}
	if err := f.Close(); err != nil {
		return false, err
	}
	for _, c := range []machine.Cmd{
		{Path: "fallocate", Args: []string{"--length", strconv.FormatInt(size, 10), beside}},
		{Path: "mkswap", Args: []string{"--quiet", beside}},
		{Path: "sync", Args: []string{beside}},
	} {
		if _, err := b.Machine.Run(ctx, c); err != nil {
			return false, errors.Join(err, os.Remove(beside))
		}
	}
	if err := b.Rename(beside, path); err != nil {
		return false, err
	}
	return true, b.Machine.StartUnit(ctx, swapUnit)
}

// swapSize returns half of the memory, at most 4 GiB and at most a quarter of the free space of the root disk; 0 if
// that would be too small to be useful.
func swapSize(memory int64, root protocol.Usage) int64 {
	size := min(memory/2, maxSwap, (root.Total-root.Used)/4)
	if size < minSwap {
		return 0
	}
	return size &^ (1<<20 - 1)
}
