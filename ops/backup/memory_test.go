package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"hermes-box/guest/protocol/tree"
	"hermes-box/internal/race"
)

// writeLarge writes a stream that is larger than the memory that TestMemory allows: 100,000 small files, and large ones
// of 200 MB in total.
func writeLarge(w io.Writer, reused bool) error {
	out, err := tree.NewWriter(w, tree.Header{Version: tree.Version, Arch: "arm64"})
	if err != nil {
		return err
	}
	text := halfText(8 << 20)
	file := func(path string, size int, part func(i int) []byte) error {
		e := &tree.Entry{Path: []byte(path), Type: tree.File, Mode: 0o644, Size: int64(size), Inode: 12345, MTime: 1, CTime: 1}
		h := sha256.New()
		for at := 0; at < size; at += len(part(at)) {
			h.Write(part(at))
		}
		digest := hex.EncodeToString(h.Sum(nil))
		if e.Reused = reused; reused {
			e.Digest = digest
		}
		if err := out.Entry(e); err != nil {
			return err
		}
		if !reused {
			for at := 0; at < size; at += len(part(at)) {
				if _, err := out.Write(part(at)); err != nil {
					return err
				}
			}
			return out.EndFile()
		}
		return nil
	}
	for i := range 100_000 {
		own := fmt.Appendf(nil, "file %d", i)
		if err := file(fmt.Sprintf("a/directory/with/names/of/usual/length/file%d.go", i), len(own), func(int) []byte { return own }); err != nil {
			return err
		}
	}
	for i := range 3 {
		part := noise(i, 1<<20)
		both := append(part[:len(part):len(part)], text[i<<20:(i+1)<<20]...)
		if err := file(fmt.Sprintf("big%d", i), 32*len(both), func(at int) []byte {
			both[0], both[1] = byte(at>>21), byte(at>>29)
			return both
		}); err != nil {
			return err
		}
	}
	_, err = out.End()
	return err
}

// A backup, a second one, a verification and a restore of many and large files stay below 150 MiB of memory.
func TestMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("NOT CHECKED: the race detector needs memory of its own")
	}
	if os.Getenv("HERMES_BOX_TEST_MEMORY") == "" {
		if testing.Short() {
			t.Skip("slow")
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$", "-test.v")
		cmd.Env = append(os.Environ(), "HERMES_BOX_TEST_MEMORY=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		must(t, err)
		return
	}
	p, _ := newPool(t)
	check := func(what string) {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Skip(err)
		}
		_, after, _ := strings.Cut(string(status), "VmHWM:")
		kib, err := strconv.Atoi(strings.Fields(after)[0])
		must(t, err)
		t.Logf("%s: %d MiB", what, kib>>10)
		if kib>>10 > 150 {
			t.Errorf("%s: the process used %d MiB", what, kib>>10)
		}
	}
	write := func(previous *Bundle) *Envelope {
		pr, pw := io.Pipe()
		go func() { pw.CloseWithError(writeLarge(pw, previous != nil)) }()
		env, err := p.Write(t.Context(), pr, Meta{}, previous, nil)
		must(t, err)
		return env
	}
	env := write(nil)
	check("backup")
	b := load(t, p, env.ID)
	write(b)
	check("second backup")
	_, err := p.Verify(t.Context(), env.ID, nil)
	must(t, err)
	check("verification")
	must(t, Send(t.Context(), b, io.Discard))
	check("restore")
}
