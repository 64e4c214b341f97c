// Package backup reads a directory tree for a backup, and unpacks a backup into an empty directory. It works on file
// descriptors, so that no symlink is followed and no path is too long.
package backup

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/tree"
)

// Source is the tree to read.
type Source struct {
	Root  string          // its directory
	Skip  map[string]bool // paths below Root that are not sent
	Taken time.Time       // the time of the snapshot or freeze; zero if the tree may change while it is read
	Known Known           // files of an earlier backup; may be nil
}

// Known are the files of an earlier backup, by path.
type Known map[string]tree.Entry

// racy is the resolution of the times that file systems keep. If a file was changed less than racy before an earlier
// backup, a later change may have the same time.
const racy = time.Second

// ReadKnown reads the output of tree.WriteKnown. Files that were changed just before the backup are left out.
func ReadKnown(r io.Reader) (Known, error) {
	dec := json.NewDecoder(bufio.NewReaderSize(r, 64<<10))
	dec.DisallowUnknownFields()
	var h tree.Header
	switch err := dec.Decode(&h); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, invalid(err)
	}
	known := Known{}
	for {
		var e tree.Entry
		switch err := dec.Decode(&e); {
		case errors.Is(err, io.EOF):
			return known, nil
		case err != nil:
			return nil, invalid(err)
		}
		if e.CTime < h.Taken-int64(racy) {
			known[string(e.Path)] = e
		}
	}
}

func invalid(err error) error {
	return &protocol.Error{Code: "invalid_input", Message: fmt.Sprintf("the list of known files cannot be read: %v", err)}
}

// unchanged returns the entry of a file in the earlier backup, and whether the file is still the same.
func (k Known) unchanged(e *tree.Entry) (tree.Entry, bool) {
	old, ok := k[string(e.Path)]
	ok = ok && old.Digest != "" && old.Inode == e.Inode && old.Size == e.Size && old.MTime == e.MTime && old.CTime == e.CTime
	return old, ok
}
