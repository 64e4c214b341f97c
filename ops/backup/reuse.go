package backup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// reuse returns the data that an unchanged file had in the previous bundle, and the entry in JSON.
func (w *writer) reuse(e *tree.Entry) ([]ref, []byte, error) {
	if w.previous == nil {
		return nil, nil, fmt.Errorf("the box says that %q is unchanged, but there is no earlier backup", e.Path)
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, nil, err
	}
	l, err := w.previous.find(e.Path)
	if err != nil {
		return nil, nil, err
	}
	if l == nil || !bytes.Equal(l.raw, raw) && !sameData(l, e) {
		return nil, nil, fault.New(fault.IntegrityFailed, "the box says that %q is unchanged, but it differs in the backup %s", e.Path, w.previous.ID).
			Hint("hermes-box backup --full")
	}
	w.done += e.Data()
	refs, err := w.s.reuse(l.refs)
	return refs, raw, err
}

// sameData reports whether an entry has the data of the line of an earlier bundle.
func sameData(l *line, e *tree.Entry) bool {
	old, err := l.entry()
	return err == nil && old.Type == tree.File && old.Link == nil && old.Digest == e.Digest && old.Size == e.Size &&
		old.Sparse == e.Sparse && slices.Equal(old.Segments, e.Segments)
}

// present reports whether all chunks that refs name in the previous bundle have files of the right size. In a full
// backup it also reads the chunks, so that the data of damaged ones is stored again.
func (s *storer) present(refs []ref) bool {
	for _, r := range refs {
		good, ok := s.good[r[0]]
		if !ok {
			c := s.previous.Chunks[r[0]]
			good = s.p.stat(c.ID) == c.Stored
			s.good[r[0]] = good && (!s.full || s.readable(int32(r[0])))
			good = s.good[r[0]]
		}
		if !good {
			return false
		}
	}
	return true
}

// readable reports whether a chunk of the previous bundle can be read.
func (s *storer) readable(number int32) bool {
	if s.reader == nil {
		c, err := s.p.newCodec()
		if err != nil {
			return false
		}
		s.reader = c
	}
	_, err := s.previous.chunk(s.reader, number, nil)
	return err == nil
}

// reuse returns refs of the previous bundle as refs of this one.
func (s *storer) reuse(old []ref) ([]ref, error) {
	refs := make([]ref, len(old))
	for i, r := range old {
		number, ok := s.reused[r[0]]
		if !ok {
			if !s.present(old[i : i+1]) {
				return nil, fault.New(fault.IntegrityFailed, "chunk %s of the backup %s is missing or damaged", s.previous.Chunks[r[0]].ID, s.previous.ID).
					Hint("hermes-box backup --full")
			}
			c := s.previous.Chunks[r[0]]
			number = int64(len(s.chunks))
			s.chunks = append(s.chunks, &c)
			s.reused[r[0]] = number
			s.mu.Lock()
			if s.byID[c.ID] == nil {
				s.byID[c.ID] = &fate{stored: c.Stored, read: c.Read, fresh: s.full}
			}
			s.mu.Unlock()
		}
		refs[i] = ref{number, r[1], r[2]}
	}
	return refs, nil
}
