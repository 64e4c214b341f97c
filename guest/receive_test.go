package guest_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes-box/guest/protocol"
)

func TestReceive(t *testing.T) {
	b := newBox(t)
	o := objects{}
	first := o.add([]byte("first"))
	sum := sha512.Sum512([]byte("second"))
	o["sha512/"+hex.EncodeToString(sum[:])] = []byte("second")
	for range 2 { // the second time, all objects are stored already and are skipped
		got, err := b.Objects().Receive(context.Background(), o.tar())
		if err != nil || got != (protocol.Received{Objects: 2, Bytes: 11}) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	have, err := b.Objects().Digests()
	if want := []string{first, sri(sum[:])}; err != nil || !slices.Equal(have, want) {
		t.Errorf("objects %v, %v", have, err)
	}
}

func TestReceiveRefuses(t *testing.T) {
	good := objects{}
	whole := good.add(bytes.Repeat([]byte("x"), 4096))
	name := strings.Replace(whole, ":", "/", 1)
	entry := func(h tar.Header, body string) []byte {
		var buf bytes.Buffer
		w := tar.NewWriter(&buf)
		h.Size, h.Mode = int64(len(body)), 0o644
		w.WriteHeader(&h)
		w.Write([]byte(body))
		w.Close()
		return buf.Bytes()
	}
	for _, tt := range []struct {
		name, code string
		stream     []byte
	}{
		{"wrong digest", "integrity_failed", entry(tar.Header{Name: name}, "other")},
		{"cut off in an object", "external_failed", good.tar().Bytes()[:1024]},
		{"cut off in a header", "external_failed", good.tar().Bytes()[:100]},
		{"not a tar", "external_failed", bytes.Repeat([]byte("garbage "), 200)},
		{"a link", "invalid_input", entry(tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, "")},
		{"path traversal", "invalid_input", entry(tar.Header{Name: "sha256/../../applied.json"}, "{}")},
		{"another algorithm", "invalid_input", entry(tar.Header{Name: "md5/d41d8cd98f00b204e9800998ecf8427e"}, "")},
		{"capitals", "invalid_input", entry(tar.Header{Name: "sha256/" + strings.ToUpper(name[7:])}, "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBox(t)
			_, err := b.Objects().Receive(context.Background(), bytes.NewReader(tt.stream))
			var e *protocol.Error
			if !errors.As(err, &e) || e.Code != tt.code {
				t.Errorf("error %v", err)
			}
			files, _ := filepath.Glob(b.Path("/var/lib/hermes-box/objects/*/*"))
			if len(files) != 0 {
				t.Errorf("left behind: %v", files)
			}
		})
	}
}

func TestReceiveEndsWithItsContext(t *testing.T) {
	b := newBox(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := objects{}
	o.add([]byte("x"))
	if _, err := b.Objects().Receive(ctx, o.tar()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestKilledWhileReceiving(t *testing.T) {
	b := newBox(t)
	o := objects{}
	o.add([]byte("x"))
	copies := b.killedAnywhere(t, func() { b.send(o) })
	if len(copies) != 2 {
		t.Fatalf("%d steps", len(copies))
	}
	for _, k := range copies {
		k.send(o)
		files, _ := filepath.Glob(k.Path("/var/lib/hermes-box/objects/*/*"))
		if len(files) != 1 {
			t.Errorf("killed after %q: %v", k.step, files)
		}
	}
}

// An object that is damaged on the guest's disk is found before its use and removed, and can be sent again.
func TestDamagedObject(t *testing.T) {
	b := newFirst(t)
	tx, o := transaction(2, "claude")
	b.send(o)
	path := b.Path("/var/lib/hermes-box/objects", strings.Replace(tx.Components[0].Artifacts[0].Digest, ":", "/", 1))
	data, err := os.ReadFile(path)
	must(t, err)
	data[len(data)/2] ^= 1
	must(t, os.WriteFile(path, data, 0o644))
	if _, err := b.Apply(context.Background(), tx); err == nil {
		t.Fatal("the damaged object was applied")
	}
	b.wantGeneration(t, 1, nil)
	must(t, b.apply(2, "claude"))
}
