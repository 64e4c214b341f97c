package ops

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/ops/fault"
)

// LogSources are the logs that Logs can show.
var LogSources = []string{"hermes", "executor", "recovery", "operations", "commands", "boot"}

// Logs writes the last lines of a log, and with follow continues until the context ends. The logs of services come from
// inside the box; those of the host can be read in any state of the box. Two of them are NDJSON: "operations", the
// newest operation, with an Event per line, and "commands", with a LoggedCommand per line.
func (b *Box) Logs(ctx context.Context, source string, lines int, follow bool, out io.Writer) error {
	switch source {
	case "operations":
		return b.hostLog(ctx, b.newestOperation, lines, follow, out)
	case "commands":
		return b.hostLog(ctx, func() string { return commandLog(b.Dir) }, lines, follow, out)
	case "boot":
		return b.hostLog(ctx, func() string { return filepath.Join(b.Home.Lima(), b.Name(), "serial.log") }, lines, follow, out)
	case "hermes", "executor", "recovery":
		if err := b.reachable(ctx); err != nil {
			return err
		}
		return b.guestLog(ctx, protocol.LogRequest{Source: source, Lines: lines, Follow: follow}, out)
	}
	return fault.New(fault.InvalidInput, "there is no log %q", source).Hint("there are %s: hermes-box logs %s", strings.Join(LogSources, ", "), LogSources[0])
}

// newestOperation returns the path of the log of the newest operation or, if there is none, of the directory of logs.
func (b *Box) newestOperation() string {
	dir := b.Home.Logs(b.Name())
	entries, _ := os.ReadDir(dir) // sorted; the names begin with the time
	if len(entries) == 0 {
		return dir
	}
	return filepath.Join(dir, entries[len(entries)-1].Name())
}

// logPoll is how often a followed file is read.
const logPoll = 250 * time.Millisecond

// hostLog writes the last lines of the file that path returns. With follow it continues, and moves on to the next file
// after a rotation or when the next operation begins.
func (b *Box) hostLog(ctx context.Context, path func() string, lines int, follow bool, out io.Writer) error {
	f, err := openLog(path())
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, "box %q has no such log yet", b.Name()).Hint("hermes-box status")
	}
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	if err := copyTail(f, lines, out); err != nil || !follow {
		return err
	}
	tick := time.NewTicker(logPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		// Read the rest of this file before the next one, so that no line is skipped.
		next, err := openLog(path())
		if err := copyNew(f, out); err != nil {
			if next != nil {
				next.Close()
			}
			return err
		}
		if err != nil {
			continue // between two files, or the box was removed
		}
		if sameFile(f, next) {
			next.Close()
			continue
		}
		f.Close()
		f = next
		if err := copyNew(f, out); err != nil {
			return err
		}
	}
}

// openLog opens a log; a directory counts as missing.
func openLog(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fs.ErrNotExist
	}
	return os.Open(path)
}

func sameFile(a, b *os.File) bool {
	x, err1 := a.Stat()
	y, err2 := b.Stat()
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// copyTail copies the last lines of a file, up to its present end, however long they are.
func copyTail(f *os.File, lines int, out io.Writer) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	from, err := lastLinesAt(f, info.Size(), lines)
	if err != nil {
		return err
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	_, err = io.CopyN(out, f, info.Size()-from)
	if errors.Is(err, io.EOF) { // the file has become shorter meanwhile
		return nil
	}
	return err
}

// lastLinesAt returns the offset at which the last lines of a file of that size begin. It reads the file backwards.
func lastLinesAt(f io.ReaderAt, size int64, lines int) (int64, error) {
	const block = 1 << 20
	buf := make([]byte, min(size, block))
	found := 0 // line ends, not counting one at the end of the file
	for end := size; end > 0; end -= int64(len(buf)) {
		buf = buf[:min(end, block)]
		begin := end - int64(len(buf))
		if _, err := f.ReadAt(buf, begin); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := len(buf) - 1; i >= 0; i-- {
			if buf[i] != '\n' || begin+int64(i) == size-1 {
				continue
			}
			if found++; found == lines {
				return begin + int64(i) + 1, nil
			}
		}
	}
	return 0, nil
}

// copyNew copies what was appended to the file since the last call. It reads a file that has become shorter from its
// start.
func copyNew(f *os.File, out io.Writer) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err == nil && info.Size() < at {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(out, f)
	return err
}
