package guest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/tree"
)

// restored returns a stream in the form in which a host sends it for a restore: the entry of each file that has data in
// the stream has the digest of the data.
func restored(t *testing.T, stream []byte) io.Reader {
	t.Helper()
	digests := map[string]string{}
	var out bytes.Buffer
	for range 2 { // the first pass computes the digests, the second one sets them in the entries
		in, err := tree.NewReader(bytes.NewReader(stream))
		must(t, err)
		out.Reset()
		w, err := tree.NewWriter(&out, in.Header)
		must(t, err)
		var last string
		sum := sha256.New()
		for {
			record, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			must(t, err)
			switch v := record.(type) {
			case *tree.Entry:
				last = string(v.Path)
				sum.Reset()
				v.Digest = digests[last]
				err = w.Entry(v)
			case tree.Data:
				sum.Write(v)
				_, err = w.Write(v)
			case tree.Sum:
				digests[last] = hex.EncodeToString(sum.Sum(nil))
				err = w.EndFile()
			case tree.Problem:
				err = w.Problem(v)
			case tree.Summary:
				_, err = w.End()
			}
			must(t, err)
		}
		must(t, w.Flush())
	}
	return &out
}

// A restore unpacks a backup onto a fresh data disk and then completes the bootstrap. The box has its data again,
// without the cache, and the bootstrap adds no files to its home.
func TestBackupAndUnpack(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: backups need Linux")
	}
	box := newRoot(t, blankDisk)
	_, err := box.Bootstrap(t.Context(), askFormat())
	must(t, err)
	box.write("/data/home/agent/work", "work\n")
	box.write("/data/secrets/token", "secret\n")
	box.write("/data/cache/huge", "huge\n")
	must(t, os.Remove(box.Path("/data/home/agent/.bashrc")))
	var stream bytes.Buffer
	done, err := box.Backup(t.Context(), protocol.BackupRequest{}, strings.NewReader(""), &stream)
	must(t, err)
	if did := standingStill(box); done.Method != protocol.BySnapshot || done.Note != "" || !slices.Equal(did, []string{"snapshot /data", "end snapshot /data"}) {
		t.Errorf("%+v, did %q", done, did)
	}

	fresh := newRoot(t, blankDisk)
	ask := askFormat()
	ask.DataOnly = true
	_, err = fresh.Bootstrap(t.Context(), ask)
	must(t, err)
	if fresh.has("/data/home") || fresh.has("/var/lib/hermes-box/bootstrap.json") {
		t.Error("there is more than an empty data disk")
	}
	got, err := fresh.Unpack(t.Context(), restored(t, stream.Bytes()))
	must(t, err)
	if got.Entries == 0 {
		t.Errorf("%+v", got)
	}
	if _, err := fresh.Unpack(t.Context(), restored(t, stream.Bytes())); err == nil {
		t.Error("a second backup was unpacked onto a disk that holds one")
	}
	_, err = fresh.Bootstrap(t.Context(), askFormat())
	must(t, err)
	if fresh.read("/home/agent/work") != "work\n" || fresh.read("/data/secrets/token") != "secret\n" {
		t.Error("the files are not there")
	}
	if fresh.has("/data/cache/huge") || fresh.has("/home/agent/.bashrc") {
		t.Error("there are files that are not in the backup")
	}
}

// If the data disk is not mounted, as after a reboot in the middle of a restore, nothing is unpacked: the files would be
// on the root disk, and the data disk, mounted over them later, would be empty.
func TestUnpackNeedsTheDataDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: backups need Linux")
	}
	box := newRoot(t, blankDisk)
	_, err := box.Bootstrap(t.Context(), askFormat())
	must(t, err)
	var stream bytes.Buffer
	_, err = box.Backup(t.Context(), protocol.BackupRequest{}, strings.NewReader(""), &stream)
	must(t, err)
	for _, mounted := range []string{"", "00000000-0000-4000-8000-000000000000"} {
		fresh := newRoot(t, blankDisk)
		if _, err := fresh.Unpack(t.Context(), restored(t, stream.Bytes())); err == nil {
			t.Error("a backup was unpacked on a machine whose data disk was never formatted")
		}
		ask := askFormat()
		ask.DataOnly = true
		_, err = fresh.Bootstrap(t.Context(), ask)
		must(t, err)
		must(t, fresh.sys.SetMount(protocol.DataDir, mounted))
		_, err := fresh.Unpack(t.Context(), restored(t, stream.Bytes()))
		if failure := (*protocol.Error)(nil); !errors.As(err, &failure) || failure.Code != "integrity_failed" || fresh.has("/data/home") {
			t.Errorf("with %q mounted: %v", mounted, err)
		}
	}
}

// A backup fails if the list of known files is damaged or the host is gone. A snapshot that was made is ended.
func TestBackupFails(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: backups need Linux")
	}
	box := newRoot(t, blankDisk)
	if _, err := box.Backup(t.Context(), protocol.BackupRequest{}, strings.NewReader(""), io.Discard); err == nil {
		t.Error("a machine that is no box is backed up")
	}
	_, err := box.Bootstrap(t.Context(), askFormat())
	must(t, err)
	var failure *protocol.Error
	if _, err := box.Backup(t.Context(), protocol.BackupRequest{}, strings.NewReader("?"), io.Discard); !errors.As(err, &failure) || failure.Code != "invalid_input" {
		t.Errorf("a damaged list: %v", err)
	}
	r, w := io.Pipe()
	r.CloseWithError(errors.New("gone"))
	if _, err := box.Backup(t.Context(), protocol.BackupRequest{}, strings.NewReader(""), w); err == nil {
		t.Error("no error, although the host is gone")
	}
	if did := standingStill(box); !slices.Equal(did, []string{"snapshot /data", "end snapshot /data"}) {
		t.Errorf("did %q", did)
	}
}

// standingStill returns the snapshots and freezes of the data disk, and their ends, in order.
func standingStill(b *box) []string {
	did := b.sys.Did()
	return slices.DeleteFunc(did, func(s string) bool {
		return !strings.HasSuffix(s, "snapshot /data") && s != "freeze /data" && s != "thaw /data"
	})
}

// Without a snapshot the data disk is frozen for the copy, and the result says why.
func TestBackupWithoutSnapshot(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: backups need Linux")
	}
	for name, c := range map[string]struct {
		fail string
		ask  protocol.BackupRequest
		note string
		did  []string
	}{
		"the disk is not mapped": {fail: "map /dev/vdb", note: "not mounted through device mapper", did: []string{"snapshot /data", "freeze /data", "thaw /data"}},
		"the snapshot fails":     {fail: "snapshot /data", note: "sabotage", did: []string{"snapshot /data", "freeze /data", "thaw /data"}},
		"a freeze is requested":  {ask: protocol.BackupRequest{Freeze: "it was full"}, note: "it was full", did: []string{"freeze /data", "thaw /data"}},
	} {
		t.Run(name, func(t *testing.T) {
			box := newRoot(t, blankDisk)
			box.failAt(c.fail)
			_, err := box.Bootstrap(t.Context(), askFormat())
			must(t, err)
			var stream bytes.Buffer
			done, err := box.Backup(t.Context(), c.ask, strings.NewReader(""), &stream)
			must(t, err)
			if did := standingStill(box); done.Method != protocol.ByFreeze || !strings.Contains(done.Note, c.note) || !slices.Equal(did, c.did) {
				t.Errorf("%+v, did %q", done, did)
			}
			restored(t, stream.Bytes()) // fails if the stream is incomplete
		})
	}
}

// If the snapshot gets full during the copy, the backup fails with an error code that the host recognizes.
func TestBackupSnapshotFull(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: backups need Linux")
	}
	box := newRoot(t, blankDisk)
	_, err := box.Bootstrap(t.Context(), askFormat())
	must(t, err)
	box.sys.SnapshotFull = true
	_, err = box.Backup(t.Context(), protocol.BackupRequest{}, strings.NewReader(""), io.Discard)
	if failure := (*protocol.Error)(nil); !errors.As(err, &failure) || failure.Code != protocol.SnapshotFull {
		t.Error(err)
	}
	if did := standingStill(box); !slices.Equal(did, []string{"snapshot /data", "end snapshot /data"}) {
		t.Errorf("did %q", did)
	}
}

// The list of known files makes a second backup small.
func TestBackupOfUnchangedData(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: backups need Linux")
	}
	box := newRoot(t, blankDisk)
	_, err := box.Bootstrap(t.Context(), askFormat())
	must(t, err)
	box.write("/data/home/agent/big", strings.Repeat("x", 1<<20))
	var first, second, list bytes.Buffer
	_, err = box.Backup(t.Context(), protocol.BackupRequest{}, strings.NewReader(""), &first)
	must(t, err)
	in, err := tree.NewReader(restored(t, first.Bytes()))
	must(t, err)
	must(t, tree.WriteKnown(&list, in.Header.Taken+int64(1e10), func(yield func(tree.Entry) bool) {
		for {
			record, err := in.Next()
			if err != nil {
				return
			}
			if e, ok := record.(*tree.Entry); ok && e.Type == tree.File && !yield(*e) {
				return
			}
		}
	}))
	_, err = box.Backup(t.Context(), protocol.BackupRequest{}, &list, &second)
	must(t, err)
	if first.Len() < 1<<20 || second.Len() > 1<<16 {
		t.Errorf("the backups have %d and %d bytes", first.Len(), second.Len())
	}
}

// A backup that holds the freeze tells the host when its stream is complete, and thaws the disk only when the host ends
// the call.
func TestBackupHoldsTheFreeze(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: backups need Linux")
	}
	box := newRoot(t, blankDisk)
	_, err := box.Bootstrap(t.Context(), askFormat())
	must(t, err)
	box.write("/data/home/agent/work", "work\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stream bytes.Buffer
	var held []string
	box.Emit = func(e protocol.Event) {
		if e.Phase != protocol.PhaseHeld {
			return
		}
		held = standingStill(box)
		restored(t, stream.Bytes()) // fails if the stream is not complete
		cancel()
	}
	if _, err := box.Backup(ctx, protocol.BackupRequest{Hold: true}, strings.NewReader(""), &stream); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if did := standingStill(box); !slices.Equal(held, []string{"freeze /data"}) || !slices.Equal(did, []string{"freeze /data", "thaw /data"}) {
		t.Errorf("did %q before the host ended the call, %q in all", held, did)
	}
}
