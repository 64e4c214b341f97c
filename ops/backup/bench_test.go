package backup

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"hermes-box/guest/protocol/tree"
)

// halfText returns n bytes that zstd makes about half as long.
func halfText(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	words := make([][]byte, 4000)
	for i := range words {
		words[i] = fmt.Appendf(nil, "%x ", r.Uint64()>>(r.IntN(7)*8))
	}
	out := make([]byte, 0, n+20)
	for len(out) < n {
		out = append(out, words[r.IntN(len(words))]...)
	}
	return out[:n]
}

// benchTree is 64 MiB of large files and 64 MiB of small ones.
func benchTree() *forest {
	text := halfText(64 << 20)
	f := &forest{}
	f.add(tree.Entry{Path: []byte("."), Type: tree.Dir, Mode: 0o755}, nil)
	for i := range 4 {
		f.regular(fmt.Sprintf("big%d", i), text[i<<24:(i+1)<<24])
	}
	for i := range 8192 {
		at := (i*7919)%8000<<13 + i%4096
		f.regular(fmt.Sprintf("small%d", i), text[at:at+8192])
	}
	return f
}

// BenchmarkByHand is the baseline of the other benchmarks: the same stream through zstd -1 and age.
func BenchmarkByHand(b *testing.B) {
	stream, _ := benchTree().stream(b, nil)
	identity, err := age.GenerateX25519Identity()
	must(b, err)
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		w, err := age.Encrypt(io.Discard, identity.Recipient())
		must(b, err)
		z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
		must(b, err)
		_, err = io.Copy(z, bytes.NewReader(stream))
		must(b, err)
		must(b, z.Close())
		must(b, w.Close())
	}
}

// BenchmarkFirst is a first backup, with its verification.
func BenchmarkFirst(b *testing.B) {
	stream, _ := benchTree().stream(b, nil)
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		p, _ := newPool(b)
		_, err := p.Write(b.Context(), bytes.NewReader(stream), Meta{}, nil, nil)
		must(b, err)
	}
}

// BenchmarkSecond is a backup of unchanged data. Its rate counts all the data, although none of it is sent.
func BenchmarkSecond(b *testing.B) {
	f := benchTree()
	full, _ := f.stream(b, nil)
	p, _ := newPool(b)
	first := save(b, p, f, Meta{}, nil, nil)
	stream, _ := f.stream(b, func(string) bool { return true })
	b.SetBytes(int64(len(full)))
	for b.Loop() {
		previous, err := p.Load(b.Context(), first.ID)
		must(b, err)
		_, err = p.Write(b.Context(), bytes.NewReader(stream), Meta{}, previous, nil)
		must(b, err)
		must(b, previous.Close())
	}
}

// BenchmarkVerify verifies a backup whose files are in the page cache.
func BenchmarkVerify(b *testing.B) {
	benchRead(b, func(p *Pool, id string) error {
		_, err := p.Verify(b.Context(), id, nil)
		return err
	})
}

// BenchmarkSend is the host's part of a restore.
func BenchmarkSend(b *testing.B) {
	benchRead(b, func(p *Pool, id string) error {
		bundle, err := p.Load(b.Context(), id)
		if err != nil {
			return err
		}
		defer bundle.Close()
		return Send(context.Background(), bundle, io.Discard)
	})
}

func benchRead(b *testing.B, read func(p *Pool, id string) error) {
	f := benchTree()
	p, _ := newPool(b)
	env := save(b, p, f, Meta{}, nil, nil)
	b.SetBytes(env.Bytes)
	for b.Loop() {
		must(b, read(p, env.ID))
	}
}
