package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/tree"
	"hermes-box/internal/spell"
)

// checker checks the lines of a bundle and makes the indexes of a Bundle from them.
type checker struct {
	b        *Bundle
	want     func(*line) bool // the entries whose chunks will be read
	manifest *manifest
	recent   recent
	need     []int64 // for each chunk, how much of it the refs need
	at       int64   // offset of the next line
	stage    int
	mac      string
	l        line

	chunksOnly bool // skip the entries and problems
}

func newChecker(want func(*line) bool) *checker {
	return &checker{b: &Bundle{byPath: map[key]int64{}, byDigest: map[key]int64{}}, want: want, manifest: newManifest()}
}

func (c *checker) header(text []byte) error {
	h := &c.b.Header
	if err := protocol.Decode(text, h); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if h.Format != 1 {
		return fmt.Errorf("it has format %d; this program reads format 1", h.Format)
	}
	at, label, err := ParseID(h.ID)
	if err != nil {
		return err
	}
	if !at.Equal(h.Time) || label != h.Label {
		return errors.New("its time and label differ from its id")
	}
	c.at = int64(len(text))
	c.b.start, c.b.end = c.at, c.at
	return nil
}

func (c *checker) line(text []byte) error {
	heads := [][]byte{entryHead, problemHead, chunkHead, macHead} // in this order
	stage := 0
	for stage < len(heads) && !bytes.HasPrefix(text, heads[stage]) {
		stage++
	}
	if stage == len(heads) || stage < c.stage {
		return errors.New("a line is not expected here")
	}
	c.stage = stage
	at := c.at
	c.at += int64(len(text))
	value, _ := bytes.CutSuffix(text[len(heads[stage]):], []byte("}\n"))
	switch {
	case stage == 0:
		c.b.end = c.at
		if c.chunksOnly {
			return nil
		}
		return c.entry(at, text)
	case stage == 1:
		return c.problem(value)
	case stage == 2:
		return c.chunk(value)
	}
	mac, ok := bytes.CutSuffix(value, []byte(`"`))
	if c.mac = string(mac); !ok || len(mac) != 2*sha256.Size {
		return errors.New("its HMAC is invalid")
	}
	return nil
}

var emptyDigest = hex.EncodeToString(sha256.New().Sum(nil))

func (c *checker) entry(at int64, text []byte) error {
	l := &c.l
	if err := l.parse(text); err != nil {
		return err
	}
	path := pathKey(l.path)
	if _, twice := c.b.byPath[path]; twice {
		return fmt.Errorf("it has two entries for %q (in base64)", l.path)
	}
	c.b.byPath[path] = at
	c.manifest.add(l.raw, l.stored())
	digest, ok := digestKey(l.digest)
	if len(l.refs) == 0 {
		if ok && string(l.digest) != emptyDigest {
			return fmt.Errorf("%q (in base64) has no data", l.path)
		}
		return nil
	}
	if !ok {
		return fmt.Errorf("%q (in base64) has data without a digest", l.path)
	}
	c.b.byDigest[digest] = at
	for _, r := range l.refs {
		switch n := int64(len(c.need)); {
		case r[0] > n:
			return fmt.Errorf("%q (in base64) has its data in chunk %d, but chunk %d is the next", l.path, r[0], n)
		case r[0] == n:
			c.need = append(c.need, 0)
		}
		c.need[r[0]] = max(c.need[r[0]], r[1]+r[2])
	}
	if c.want == nil || c.want(l) {
		c.b.loads = c.recent.misses(c.b.loads, l.refs)
	}
	return nil
}

func (c *checker) problem(raw []byte) error {
	p := tree.Problem{}
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("problem: %w", err)
	}
	c.b.Problems = append(c.b.Problems, p)
	c.manifest.addProblem(raw)
	return nil
}

func (c *checker) chunk(raw []byte) error {
	n := len(c.b.Chunks)
	chunk := Chunk{}
	if err := protocol.Decode(raw, &chunk); err != nil {
		return fmt.Errorf("chunk %d: %w", n, err)
	}
	if !validID(chunk.ID) || chunk.Size <= 0 || chunk.Size > maxChunk || chunk.Stored <= 0 {
		return fmt.Errorf("chunk %d is invalid", n)
	}
	if !c.chunksOnly && (n >= len(c.need) || chunk.Size < c.need[n]) {
		return fmt.Errorf("chunk %d has too few bytes, or no file needs it", n)
	}
	c.b.Chunks = append(c.b.Chunks, chunk)
	return nil
}

// end makes the checks that need all lines. It compares the summary of the manifest with the one in the header.
func (c *checker) end() (*Bundle, error) {
	if c.chunksOnly {
		return c.b, nil
	}
	if len(c.b.Chunks) != len(c.need) {
		return nil, fmt.Errorf("it names %s, its files need %d", spell.Count(len(c.b.Chunks), "chunk"), len(c.need))
	}
	if have := c.manifest.summary(); have != c.b.Summary {
		return nil, fmt.Errorf("its manifest (%s) does not match its summary (%s)", have, c.b.Summary)
	}
	return c.b, nil
}
