package tree

import (
	"bufio"
	"encoding/json"
	"io"
)

// WriteKnown writes the list of the regular files of an earlier backup, for a guest that makes the next backup. taken
// is the time of the earlier backup.
func WriteKnown(w io.Writer, taken int64, files func(yield func(Entry) bool)) error {
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	if err := enc.Encode(Header{Taken: taken}); err != nil {
		return err
	}
	for e := range files {
		e.Xattrs = nil
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	return out.Flush()
}
