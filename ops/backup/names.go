package backup

import "encoding/base64"

// Names calls fn with the path of each entry, in the order of the tree. It is faster than Each. The path is valid during
// the call.
func (b *Bundle) Names(fn func(path []byte) error) error {
	var path []byte
	return b.each(func(l *line) (err error) {
		if path, err = base64.StdEncoding.AppendDecode(path[:0], l.path); err != nil {
			return err
		}
		return fn(path)
	})
}
