package machine

import (
	"bytes"
	"testing"

	"hermes-box/guest/protocol"
)

func TestParseBlkid(t *testing.T) {
	for text, want := range map[string]Disk{
		"DEVNAME=/dev/vdb\nUUID=ABCD-12\nTYPE=ext4\nUSAGE=filesystem\n": {Type: "ext4", UUID: "abcd-12"},
		"DEVNAME=/dev/vdb\nPTUUID=1\nPTTYPE=gpt\n":                      {Type: "gpt partition table"},
		"DEVNAME=/dev/vdb\n": {Type: "unknown signature"},
		"":                   {Type: "unknown signature"},
	} {
		if got := parseBlkid(text); got != want || got.Blank {
			t.Errorf("%q: %+v; want %+v", text, got, want)
		}
	}
}

func TestZeroEnds(t *testing.T) {
	const size = 5 * mib
	for name, c := range map[string]struct {
		at   int64
		zero bool
	}{"blank": {-1, true}, "first byte": {0, false}, "end of the first MiB": {mib - 1, false}, "last byte": {size - 1, false},
		"start of the last MiB": {size - mib, false}, "middle": {2 * mib, true}} {
		data := make([]byte, size)
		if c.at >= 0 {
			data[c.at] = 1
		}
		n, zero, err := zeroEnds(bytes.NewReader(data))
		if err != nil || n != size || zero != c.zero {
			t.Errorf("%s: %d, %v, %v", name, n, zero, err)
		}
	}
	if _, _, err := zeroEnds(bytes.NewReader(make([]byte, mib))); err == nil {
		t.Error("a disk of 1 MiB was accepted")
	}
}

func TestDiskIsADevice(t *testing.T) {
	m := New()
	for _, path := range []string{t.TempDir(), "/dev/null", "/no/such/disk"} {
		if d, err := m.Disk(t.Context(), path); err == nil {
			t.Errorf("%s: %+v", path, d)
		}
	}
}

func TestMounted(t *testing.T) {
	const table = "25 1 254:0 / / rw - ext4 /dev/vda rw\n40 25 254:16 / /data rw,noatime shared:1 - ext4 /dev/vdb rw\nshort\n"
	for path, want := range map[string]bool{"/": true, "/data": true, "/dat": false, "/data/home": false, "": false} {
		if got := mounted(table, path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	if id, err := New().MountedUUID(t.Context(), t.TempDir()); id != "" || err != nil {
		t.Errorf("an ordinary directory: %q, %v", id, err)
	}
}

func TestUsage(t *testing.T) {
	if u := New().Usage(t.TempDir()); u.Used <= 0 || u.Used > u.Total {
		t.Errorf("%+v", u)
	}
	if u := New().Usage("/no/such/place"); u != (protocol.Usage{}) {
		t.Errorf("a path that does not exist: %+v", u)
	}
}
