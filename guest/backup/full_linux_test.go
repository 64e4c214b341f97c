package backup

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk mounts an ext4 of 32 MiB, the type of file system that a data disk has. It needs root and a loop device.
func smallDisk(t *testing.T) (at string) {
	t.Helper()
	dir := t.TempDir()
	image, at := filepath.Join(dir, "image"), filepath.Join(dir, "at")
	must(t, os.Mkdir(at, 0o755))
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 32<<20))
	for _, argv := range [][]string{{"mkfs.ext4", "-q", "-b", "4096", "-m", "0", image}, {"mount", "-o", "loop", image, at}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Skipf("NOT CHECKED: a small disk needs root and a loop device: %v: %s", err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return at
}

// If the data disk gets full at any point of a restore, Unpack fails with ENOSPC. It succeeds only with room for the
// whole tree, and then loses nothing.
func TestUnpackOnAFullDisk(t *testing.T) {
	from, at := place(t), smallDisk(t)
	odd(t, from)
	stream, sent := send(t, Source{Root: from})
	stream = stored(t, stream)
	var before unix.Statfs_t
	must(t, unix.Statfs(at, &before))
	const step = 16 << 10
	failed := 0
	for room := int64(0); ; room += step {
		if room > 8<<20 {
			t.Fatalf("with %d bytes free Unpack still fails", room)
		}
		to, filler := filepath.Join(at, "to"), filepath.Join(at, "filler")
		must(t, os.Mkdir(to, 0o755))
		f, err := os.Create(filler)
		must(t, err)
		must(t, errors.Join(unix.Fallocate(int(f.Fd()), 0, 0, int64(before.Bavail)*before.Bsize-room-64<<10), f.Close()))
		got, err := Unpack(t.Context(), to, bytes.NewReader(stream))
		if err == nil {
			_, back := send(t, Source{Root: to})
			if len(back.entries) != len(sent.entries) || len(got.Lost) > 0 {
				t.Errorf("with %d bytes free: %d entries of %d, lost %v", room, len(back.entries), len(sent.entries), got.Lost)
			}
			break
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Errorf("with %d bytes free: %v", room, err)
		}
		failed++
		removeTree(to)
		must(t, os.Remove(filler))
	}
	t.Logf("%d times full", failed)
	if failed < 60 { // the tree has more than 1 MiB
		t.Errorf("the disk was full only %d times", failed)
	}
}
