package tree

import (
	"bytes"
	"fmt"
	"slices"
)

// Check returns an error for an entry that is invalid. Examples are a path that leads out of the tree, because it is
// absolute or has an element "..", and data beyond the size. Check does not compare an entry with others.
func (e *Entry) Check() error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("entry %q: %s", e.Path, fmt.Sprintf(format, args...))
	}
	if !ValidPath(e.Path) {
		return invalid("the path is not a valid relative path")
	}
	if !slices.Contains([]Type{Dir, File, Symlink, Fifo, Socket, Char, Block}, e.Type) {
		return invalid("unknown type %q", e.Type)
	}
	if string(e.Path) == "." && e.Type != Dir {
		return invalid("the root is a %s, not a directory", e.Type)
	}
	if e.Mode&^0o7777 != 0 {
		return invalid("mode %o has unknown bits", e.Mode)
	}
	if e.Type == File && e.Size < 0 {
		return invalid("the size %d is negative", e.Size)
	}
	if e.Type != File && (e.Size != 0 || e.Sparse || e.Digest != "") {
		return invalid("only a file can have a size, holes or a digest, but this is a %s", e.Type)
	}
	if (e.Type == Symlink) != (len(e.Target) > 0) && e.Link == nil || bytes.IndexByte(e.Target, 0) >= 0 {
		return invalid("a %s cannot have the target %q", e.Type, e.Target)
	}
	if e.Link != nil && (e.Type == Dir || !ValidPath(e.Link) || bytes.Equal(e.Link, e.Path)) {
		return invalid("a %s cannot be a hard link to %q", e.Type, e.Link)
	}
	if !e.Sparse && len(e.Segments) > 0 {
		return invalid("it has data segments, but no holes")
	}
	end := int64(0)
	for _, s := range e.Segments {
		if s.Offset < end || s.Length <= 0 || s.Length > e.Size || s.Offset > e.Size-s.Length {
			return invalid("the data segment of %[2]d bytes at %[1]d is empty, out of order or beyond the size", s.Offset, s.Length)
		}
		end = s.Offset + s.Length
	}
	for i, x := range e.Xattrs {
		if len(x.Name) == 0 || bytes.IndexByte(x.Name, 0) >= 0 || i > 0 && bytes.Compare(e.Xattrs[i-1].Name, x.Name) >= 0 {
			return invalid("the extended attribute %q has an invalid name or is out of order", x.Name)
		}
	}
	return nil
}

// ValidPath reports whether path is "." or a relative path without NUL whose elements have 1 to 255 bytes and are not
// "." or "..".
func ValidPath(path []byte) bool {
	if string(path) == "." {
		return true
	}
	if bytes.IndexByte(path, 0) >= 0 {
		return false
	}
	for _, name := range bytes.Split(path, []byte("/")) {
		if len(name) == 0 || len(name) > 255 || string(name) == "." || string(name) == ".." {
			return false
		}
	}
	return true
}
