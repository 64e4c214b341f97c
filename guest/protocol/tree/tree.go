// Package tree is the format in which a backup or a restore sends a directory tree between the guest and the host.
//
// A stream is a sequence of records: a kind in one byte, the length of the payload in four bytes, big endian, and the
// payload. It begins with a Header. Then comes an Entry for each file, with directories before their files. The data
// of a regular file follows its Entry in Data records, and a Sum after them, unless the entry has a Link or is Reused.
// A Problem names a file that the tree lacks, wholly or in part. The last record is a Summary; a stream without
// one is cut off.
//
// A Sum has the checksum of the data before it. The Summary has the checksum of all records before it except Data.
// Writer adds the checksums and Reader checks them. They are XXH64, which detects accidental damage: on an emulated
// CPU, sha256 takes three times as long as everything that ssh does. The host itself computes the sha256 of the data
// that it receives.
//
// Holes in a file are not sent; Entry.Segments lists the parts that have data.
package tree

import "fmt"

// Version is the version of the format.
const Version = 2

// Type is the type of a file.
type Type string

// The types. Nothing listens on a restored socket.
const (
	Dir     Type = "dir"
	File    Type = "file"
	Symlink Type = "symlink"
	Fifo    Type = "fifo"
	Socket  Type = "socket"
	Char    Type = "char"
	Block   Type = "block"
)

// Header is the first record.
type Header struct {
	Version int    `json:"version"`
	Arch    string `json:"arch"`            // GOARCH of the guest
	Taken   int64  `json:"taken,omitempty"` // time of the snapshot or freeze, by the clock of the guest: nanoseconds since 1970
}

// Entry is one file. Names may hold any bytes but NUL.
type Entry struct {
	Path     []byte    `json:"path"` // relative to the root of the tree, which is "."
	Type     Type      `json:"type"`
	Mode     uint32    `json:"mode"` // permissions with setuid, setgid and sticky
	UID      uint32    `json:"uid"`
	GID      uint32    `json:"gid"`
	MTime    int64     `json:"mtime"`              // nanoseconds since 1970
	CTime    int64     `json:"ctime"`              // nanoseconds since 1970; not restored
	Inode    uint64    `json:"inode"`              // not restored
	Size     int64     `json:"size,omitempty"`     // of a regular file, with its holes
	Segments []Segment `json:"segments,omitempty"` // where a file with holes has data; nil without holes
	Sparse   bool      `json:"sparse,omitempty"`   // Segments is valid, even if it is empty
	Target   []byte    `json:"target,omitempty"`   // of a symlink
	Device   uint64    `json:"device,omitempty"`   // of a device, as in stat
	Link     []byte    `json:"link,omitempty"`     // path of an earlier entry for the same file
	Xattrs   []Xattr   `json:"xattrs,omitempty"`   // sorted by name; ACLs and capabilities are among them
	Digest   string    `json:"digest,omitempty"`   // sha256 of the data in hex, of a regular file without Link, where the host has computed it
	Reused   bool      `json:"-"`                  // unchanged since the earlier backup whose files the host listed; the stream does not have its data
}

// Segment is a part of a file.
type Segment struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
}

// Xattr is an extended attribute.
type Xattr struct {
	Name  []byte `json:"name"`
	Value []byte `json:"value"`
}

// Sum ends the data of a file. If it is Broken, the file could not be read to its end: it does not belong to the tree,
// the reader must drop its data, and a Problem follows.
type Sum struct {
	Broken bool `json:"broken,omitempty"`
}

// Problem is a file that the tree lacks, wholly or in part, and the reason.
type Problem struct {
	Path   []byte `json:"path"`
	Reason string `json:"reason"`
}

// Summary is the last record.
type Summary struct {
	Entries  int   `json:"entries"`
	Bytes    int64 `json:"bytes"`    // of data, including that of reused files
	Problems int   `json:"problems"` // the tree is partial if there are any
}

// String returns the counts, for messages.
func (s Summary) String() string {
	return fmt.Sprintf("entries: %d, bytes: %d, problems: %d", s.Entries, s.Bytes, s.Problems)
}

// add counts a complete entry.
func (s *Summary) add(e *Entry) {
	s.Entries++
	if e.Type == File && e.Link == nil {
		s.Bytes += e.Data()
	}
}

// HasData reports whether data and a Sum follow the entry.
func (e *Entry) HasData() bool { return e.Type == File && e.Link == nil && !e.Reused }

// Data returns the number of bytes of data in a regular file.
func (e *Entry) Data() int64 {
	if !e.Sparse {
		return e.Size
	}
	var n int64
	for _, s := range e.Segments {
		n += s.Length
	}
	return n
}
