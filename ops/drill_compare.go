package ops

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/tree"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/backup"
)

// compare reads the data disk of the throw-away box, as a backup does, and compares every entry with the backup.
func (t *trial) compare(ctx context.Context, p *Progress) error {
	r := t.drill.result
	r.Compared = append(r.Compared, "names", "types", "modes", "owners", "times", "sizes", "holes", "data", "targets of symlinks", "hard links", "extended attributes")
	r.NotCompared = append(r.NotCompared, "the time of the root of the data disk")
	lost := map[string]bool{}
	for _, l := range t.result.Lost {
		lost[string(l.Path)] = true
		r.NotCompared = append(r.NotCompared, fmt.Sprintf("%s: the data disk cannot hold its %s", shown(l.Path), l.Part))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	data, stream := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ask := protocol.BackupRequest{Freeze: "nothing runs in the box of a drill"}
		err := t.call(ctx, ssh.Call{Verb: protocol.VerbBackup, Request: ask, Stdout: stream, Event: relay(p)}, &protocol.BackedUp{})
		stream.CloseWithError(err) // nil is io.EOF
	}()
	err := r.compare(listed(t.bundle), received(data, func(n int) {
		r.Bytes += int64(n)
		p.Bytes(r.Bytes, t.bundle.Summary.Bytes)
	}, func(problem tree.Problem) {
		r.differ("%s: it could not be read: %s", shown(problem.Path), problem.Reason)
	}), lost)
	data.CloseWithError(errors.Join(err, errStopped))
	if err != nil {
		cancel()
	}
	<-ended
	if err == nil {
		r.say(p)
	}
	return err
}

// entries is a sequence of entries in the order of a tree. After an error it ends.
type entries = iter.Seq2[*tree.Entry, error]

// listed returns the entries of a backup.
func listed(bundle *backup.Bundle) entries {
	return func(yield func(*tree.Entry, error) bool) {
		err := bundle.Each(func(e *tree.Entry) error {
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// received returns the entries of a stream, with digests computed from their data. It calls data with the length of
// each piece of data, and problem for each problem.
func received(stream io.Reader, data func(n int), problem func(tree.Problem)) entries {
	return func(yield func(*tree.Entry, error) bool) {
		in, err := tree.NewReader(stream)
		var open *tree.Entry
		digest := sha256.New()
		for err == nil {
			var record any
			if record, err = in.Next(); err != nil {
				break
			}
			complete := (*tree.Entry)(nil)
			switch v := record.(type) {
			case *tree.Entry:
				if open = v; !v.HasData() {
					complete = v
				}
				digest.Reset()
			case tree.Data:
				data(len(v))
				digest.Write(v)
			case tree.Sum:
				if open.Digest = hex.EncodeToString(digest.Sum(nil)); !v.Broken {
					complete = open
				}
			case tree.Problem:
				problem(v)
			}
			if complete != nil && !yield(complete, nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(nil, fmt.Errorf("read the data disk of the box: %w", err))
		}
	}
}

// compare compares two trees. Of the entries in lost, which the data disk could not hold completely, it compares only
// the names.
func (r *Drill) compare(want, got entries, lost map[string]bool) error {
	wanted, stopWanted := iter.Pull2(want)
	defer stopWanted()
	found, stopFound := iter.Pull2(got)
	defer stopFound()
	wantSum, gotSum := sha256.New(), sha256.New()
	w, err, moreWanted := wanted()
	if err != nil {
		return err
	}
	g, err, moreFound := found()
	if err != nil {
		return err
	}
	for moreWanted || moreFound {
		order := 0
		switch {
		case !moreFound:
			order = -1
		case !moreWanted:
			order = 1
		default:
			order = inTree(w.Path, g.Path)
		}
		if order <= 0 && !lost[string(w.Path)] {
			wantSum.Write(restorable(w))
		}
		if order >= 0 && !lost[string(g.Path)] {
			gotSum.Write(restorable(g))
		}
		switch {
		case order < 0:
			r.differ("%s: it is missing", shown(w.Path))
		case order > 0:
			r.differ("%s: it is not in the backup", shown(g.Path))
		default:
			r.Entries++
			if a, b := restorable(w), restorable(g); !lost[string(w.Path)] && !bytes.Equal(a, b) {
				r.differ("%s: it is %s, not %s", shown(w.Path), b, a)
			}
		}
		if order <= 0 {
			if w, err, moreWanted = wanted(); err != nil {
				return err
			}
		}
		if order >= 0 {
			if g, err, moreFound = found(); err != nil {
				return err
			}
		}
	}
	r.Expected, r.Found = hex.EncodeToString(wantSum.Sum(nil)), hex.EncodeToString(gotSum.Sum(nil))
	return nil
}

// inTree compares two paths in the order of a tree: a directory comes before what is in it, and names are sorted.
func inTree(a, b []byte) int {
	return bytes.Compare(treeKey(a), treeKey(b))
}

func treeKey(path []byte) []byte {
	if string(path) == "." {
		return nil
	}
	return bytes.ReplaceAll(path, []byte("/"), []byte{0}) // no name has a NUL
}

// restorable returns the part of an entry that a restore brings back, as JSON.
func restorable(e *tree.Entry) []byte {
	c := *e
	c.CTime, c.Inode = 0, 0
	if string(c.Path) == "." {
		c.MTime = 0 // bootstrap makes the cache directory in the root, which changes its time
	}
	if c.Sparse && len(c.Segments) == 1 && c.Segments[0] == (tree.Segment{Length: c.Size}) {
		// One segment covers the file, so it has no hole. It only looked sparse because its data was not on the disk
		// yet.
		c.Sparse, c.Segments = false, nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // bytes and numbers always encode
	}
	return append(text, '\n')
}
