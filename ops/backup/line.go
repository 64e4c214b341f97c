package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"strconv"

	"hermes-box/guest/protocol/tree"
)

// A bundle has a line for each entry, in the form
//
//	{"e":<the entry>,"r":[[<number of a chunk>,<offset>,<length>],...]}
//
// then one for each problem, {"p":<problem>}, one for each chunk in the order of their numbers, {"c":<chunk>}, and
// {"mac":"<HMAC of all lines before it>"}. Nearly all lines are entries, and unmarshalling all of them takes longer
// than everything else in a backup of unchanged files. So they are read by position: no value in an entry can hold a
// quote, because names are in base64. The values are used only after the HMAC was checked.

// ref is a part of a chunk: the number of the chunk, offset, length.
type ref [3]int64

var (
	entryHead   = []byte(`{"e":`)
	refsHead    = []byte(`,"r":`)
	pathHead    = []byte(`{"path":"`)
	digestHead  = []byte(`,"digest":"`)
	problemHead = []byte(`{"p":`)
	chunkHead   = []byte(`{"c":`)
	macHead     = []byte(`{"mac":"`)
)

// line is the line of an entry.
type line struct {
	raw    []byte // the entry in JSON
	path   []byte // in base64
	digest []byte // in hex; empty if the entry has no data of its own
	refs   []ref
}

// appendLine appends the line of an entry to buf.
func appendLine(buf, raw []byte, refs []ref) []byte {
	buf = append(append(append(buf, entryHead...), raw...), refsHead...)
	buf = append(buf, '[')
	for i, r := range refs {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, '[')
		for k, n := range r {
			if k > 0 {
				buf = append(buf, ',')
			}
			buf = strconv.AppendInt(buf, n, 10)
		}
		buf = append(buf, ']')
	}
	return append(buf, "]}\n"...)
}

// problemLine returns the line of a problem.
func problemLine(p tree.Problem) ([]byte, error) {
	raw, err := json.Marshal(p)
	return fmt.Appendf(nil, "%s%s}\n", problemHead, raw), err
}

var errLine = errors.New("the line of an entry is invalid")

// parse reads the line of an entry. The fields of l are parts of text, not copies.
func (l *line) parse(text []byte) error {
	body, ok := bytes.CutPrefix(text, entryHead)
	at := bytes.LastIndex(body, refsHead)
	if !ok || at < 0 {
		return errLine
	}
	l.raw = body[:at]
	rest, ok := bytes.CutPrefix(l.raw, pathHead)
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 {
		return errLine
	}
	l.path, l.digest = rest[:end], nil
	if i := bytes.LastIndex(rest[end:], digestHead); i >= 0 {
		digest := rest[end+i+len(digestHead):]
		if i := bytes.IndexByte(digest, '"'); i != 2*sha256.Size {
			return errLine
		}
		l.digest = digest[:2*sha256.Size]
	}
	return l.parseRefs(body[at+len(refsHead):])
}

func (l *line) parseRefs(text []byte) error {
	l.refs = l.refs[:0]
	text, ok := bytes.CutSuffix(text, []byte("]}\n"))
	if !ok || len(text) == 0 || text[0] != '[' {
		return errLine
	}
	for text = text[1:]; len(text) > 0; {
		var r ref
		for k, end := range []byte(",,]") {
			if k == 0 {
				if text[0] != '[' {
					return errLine
				}
				text = text[1:]
			}
			i := bytes.IndexByte(text, end)
			if i < 0 || i > 18 {
				return errLine
			}
			n, err := strconv.ParseInt(string(text[:i]), 10, 64)
			if err != nil || n < 0 {
				return errLine
			}
			r[k], text = n, text[i+1:]
		}
		if r[0] > 1<<30 || r[1] > maxChunk || r[2] == 0 || r[2] > maxChunk {
			return errLine
		}
		l.refs = append(l.refs, r)
		if len(text) > 0 {
			if len(text) == 1 || text[0] != ',' {
				return errLine
			}
			text = text[1:]
		}
	}
	return nil
}

// entry returns the whole entry.
func (l *line) entry() (*tree.Entry, error) {
	e := &tree.Entry{}
	if err := json.Unmarshal(l.raw, e); err != nil {
		return nil, fmt.Errorf("entry: %w", err)
	}
	return e, e.Check()
}

// stored returns the bytes of data that the refs have.
func (l *line) stored() (n int64) {
	for _, r := range l.refs {
		n += r[2]
	}
	return n
}

// manifest makes the summary of a backup from its entries and problems in JSON.
type manifest struct {
	entries  hash.Hash
	problems [][]byte
	sum      Summary
}

func newManifest() *manifest { return &manifest{entries: sha256.New()} }

var newline = []byte{'\n'}

// add adds an entry in JSON, with the bytes of data that it has; links have none.
func (m *manifest) add(raw []byte, data int64) {
	m.entries.Write(raw)
	m.entries.Write(newline)
	m.sum.Entries++
	m.sum.Bytes += data
}

// addEntry adds an entry, whose digest is known, and returns it in JSON.
func (m *manifest) addEntry(e *tree.Entry) ([]byte, error) {
	raw, err := json.Marshal(e)
	data := int64(0)
	if e.Type == tree.File && e.Link == nil {
		data = e.Data()
	}
	m.add(raw, data)
	return raw, err
}

// addProblem adds a problem in JSON.
func (m *manifest) addProblem(raw []byte) {
	m.problems = append(m.problems, bytes.Clone(raw))
	m.sum.Problems++
}

// summary returns the summary of what was added.
func (m *manifest) summary() Summary {
	for _, p := range m.problems {
		m.entries.Write(p)
		m.entries.Write(newline)
	}
	m.problems = nil
	m.sum.Digest = hex.EncodeToString(m.entries.Sum(nil))
	return m.sum
}

// key is half of a sha256: enough to tell files apart in an index whose hits are compared in full.
type key [sha256.Size / 2]byte

type sha256Digest [sha256.Size]byte

// pathKey returns the key of a path in base64.
func pathKey(path []byte) key {
	sum := sha256.Sum256(path)
	return key(sum[:len(key{})])
}

// digestKey returns the key of a digest in hex; ok is false if the text is not a digest.
func digestKey(digest []byte) (k key, ok bool) {
	if len(digest) != 2*sha256.Size {
		return k, false
	}
	_, err := hex.Decode(k[:], digest[:2*len(k)])
	return k, err == nil
}
