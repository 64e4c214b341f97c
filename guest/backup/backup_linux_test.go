package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes-box/guest/protocol/tree"
)

// contents is the content of a stream: its header, its entries and their data by path, its problems and its summary.
type contents struct {
	header   tree.Header
	entries  map[string]tree.Entry
	data     map[string]string
	problems []tree.Problem
	summary  tree.Summary
}

func read(t *testing.T, stream []byte) contents {
	t.Helper()
	in, err := tree.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	c := contents{header: in.Header, entries: map[string]tree.Entry{}, data: map[string]string{}}
	var last *tree.Entry
	for {
		record, err := in.Next()
		if errors.Is(err, io.EOF) {
			return c
		}
		if err != nil {
			t.Fatal(err)
		}
		switch v := record.(type) {
		case *tree.Entry:
			last = v
			c.entries[string(v.Path)] = *v
		case tree.Data:
			c.data[string(last.Path)] += string(v)
		case tree.Sum:
			if v.Broken {
				delete(c.entries, string(last.Path))
				continue
			}
			sum := sha256.Sum256([]byte(c.data[string(last.Path)]))
			last.Digest = hex.EncodeToString(sum[:]) // as the host does
			c.entries[string(last.Path)] = *last
		case tree.Problem:
			c.problems = append(c.problems, v)
		case tree.Summary:
			c.summary = v
		}
	}
}

func send(t *testing.T, s Source) ([]byte, contents) {
	t.Helper()
	var stream bytes.Buffer
	sum, err := s.Send(t.Context(), &stream)
	if err != nil {
		t.Fatal(err)
	}
	c := read(t, stream.Bytes())
	if c.summary != sum || sum.Entries != len(c.entries) || sum.Problems != len(c.problems) {
		t.Errorf("summary %+v, returned %+v, of %d entries and %d problems", c.summary, sum, len(c.entries), len(c.problems))
	}
	return stream.Bytes(), c
}

// must fails the test if err is not nil.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// odd makes a tree with files of every type that a backup can have, and with unusual names, attributes and holes. It
// returns a line for each file or attribute that this user or file system could not make.
func odd(t *testing.T, root string) (missing []string) {
	t.Helper()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o600))
		must(t, os.Chmod(path, mode))
		return path
	}
	write("plain", "text", 0o644)
	write("empty", "", 0o000)
	write("setuid", "#!", 0o755|os.ModeSetuid)
	write("name of any bytes \xff\n\t\\", "odd", 0o600)
	write(strings.Repeat("n", 255), "long name", 0o600)
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	write("dir/big", string(big), 0o644)
	must(t, os.Link(filepath.Join(root, "dir/big"), filepath.Join(root, "hard link")))
	must(t, os.Symlink("../../../etc/passwd", filepath.Join(root, "symlink")))
	must(t, os.Symlink(strings.Repeat("x/", 2000), filepath.Join(root, "long symlink")))
	must(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o640))
	must(t, unix.Mknod(filepath.Join(root, "socket"), unix.S_IFSOCK|0o600, 0))
	if err := unix.Mknod(filepath.Join(root, "whiteout"), unix.S_IFCHR, 0); err != nil {
		missing = append(missing, "a whiteout: "+err.Error())
	}
	sparse, err := os.Create(filepath.Join(root, "sparse"))
	must(t, err)
	_, err = sparse.WriteAt([]byte("middle"), 5<<20)
	must(t, err)
	must(t, sparse.Truncate(1<<30))
	must(t, sparse.Close())
	must(t, os.WriteFile(filepath.Join(root, "hole"), nil, 0o600))
	must(t, os.Truncate(filepath.Join(root, "hole"), 1<<20))
	for name, set := range map[string]func(path string) error{
		"xattr":      func(p string) error { return unix.Setxattr(p, "user.name \xff", []byte("value\x00\xff"), 0) },
		"capability": func(p string) error { return unix.Setxattr(p, "security.capability", capNetBind, 0) },
		"acl":        func(p string) error { return unix.Setxattr(p, "system.posix_acl_access", acl, 0) },
		"owner":      func(p string) error { return os.Chown(p, 1234, 4321) },
	} {
		if err := set(write(name, name, 0o755)); err != nil {
			missing = append(missing, name+": "+err.Error())
		}
	}
	deep(t, root)
	old := time.Unix(1000000000, 123456789)
	must(t, os.Mkdir(filepath.Join(root, "read-only"), 0o755))
	write("read-only/file", "x", 0o400)
	must(t, os.Chmod(filepath.Join(root, "read-only"), 0o555))
	must(t, os.Chtimes(filepath.Join(root, "read-only"), old, old))
	must(t, os.Chtimes(filepath.Join(root, "plain"), time.Unix(-5, 999), time.Unix(-5, 999)))
	return missing
}

// capNetBind is CAP_NET_BIND_SERVICE, permitted and effective (VFS_CAP_REVISION_2).
var capNetBind = []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// acl is user::rwx, user:1000:r--, group::r-x, mask::r-x, other::r-x (version 2).
var acl = []byte{2, 0, 0, 0,
	1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 4, 0, 232, 3, 0, 0, 4, 0, 5, 0, 255, 255, 255, 255,
	16, 0, 5, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255}

// deep makes a file whose path is longer than PATH_MAX.
func deep(t *testing.T, root string) {
	t.Helper()
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	for range 30 {
		name := strings.Repeat("d", 200)
		must(t, unix.Mkdirat(fd, name, 0o755))
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		unix.Close(fd)
		fd = next
	}
	file, err := unix.Openat(fd, "file", unix.O_CREAT|unix.O_WRONLY, 0o600)
	must(t, err)
	_, err = unix.Write(file, []byte("deep"))
	must(t, errors.Join(err, unix.Close(file), unix.Close(fd)))
}

// removeTree removes a tree, even if its directories are not writable.
func removeTree(root string) {
	_ = exec.Command("chmod", "-R", "u+rwx", root).Run()
	_ = exec.Command("rm", "-rf", root).Run()
}

// place returns an empty directory in the directory of this package, because the file system of /tmp may have no
// extended attributes.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "tree")
	must(t, err)
	dir, err = filepath.Abs(dir)
	must(t, err)
	t.Cleanup(func() { removeTree(dir) })
	return dir
}

// same returns an entry without the fields that a restored file does not keep.
func same(e tree.Entry) tree.Entry {
	e.CTime, e.Inode = 0, 0
	return e
}

func TestRoundTrip(t *testing.T) {
	from, to := place(t), place(t)
	missing := odd(t, from)
	if os.Geteuid() == 0 && len(missing) > 0 {
		t.Errorf("not made: %q", missing)
	}
	stream, sent := send(t, Source{Root: from})
	if len(sent.problems) > 0 && os.Geteuid() == 0 {
		t.Errorf("problems: %v", sent.problems)
	}
	got, err := Unpack(t.Context(), to, bytes.NewReader(stored(t, stream)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Lost) > 0 {
		t.Errorf("lost: %v", got.Lost)
	}
	_, back := send(t, Source{Root: to})
	for path, want := range sent.entries {
		if have := back.entries[path]; !reflect.DeepEqual(same(have), same(want)) {
			t.Errorf("%q:\n%+v, was\n%+v", path, same(have), same(want))
		}
		if sent.data[path] != back.data[path] {
			t.Errorf("%q has other data", path)
		}
	}
	if len(back.entries) != len(sent.entries) {
		t.Errorf("%d entries, were %d", len(back.entries), len(sent.entries))
	}
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(to, "sparse"), &st))
	if st.Size != 1<<30 || st.Blocks*512 > 1<<20 {
		t.Errorf("a file with holes has %d bytes on the disk", st.Blocks*512)
	}
}

// stored returns a stream in the form in which a restore sends it: with the digests in the entries.
func stored(t *testing.T, stream []byte) []byte {
	t.Helper()
	c := read(t, stream)
	in, err := tree.NewReader(bytes.NewReader(stream))
	must(t, err)
	var out bytes.Buffer
	w, err := tree.NewWriter(&out, c.header)
	must(t, err)
	for {
		record, err := in.Next()
		if errors.Is(err, io.EOF) {
			must(t, w.Flush())
			return out.Bytes()
		}
		must(t, err)
		switch v := record.(type) {
		case *tree.Entry:
			e := c.entries[string(v.Path)]
			err = w.Entry(&e)
		case tree.Data:
			_, err = w.Write(v)
		case tree.Sum:
			err = w.EndFile()
		case tree.Problem:
			err = w.Problem(v)
		case tree.Summary:
			_, err = w.End()
		}
		must(t, err)
	}
}

// A file that has not changed since an earlier backup is not read, unless it was changed just before that backup.
func TestUnchangedFilesAreReused(t *testing.T) {
	root := place(t)
	odd(t, root)
	_, first := send(t, Source{Root: root})
	again := func(taken time.Time) contents {
		t.Helper()
		var list bytes.Buffer
		must(t, tree.WriteKnown(&list, taken.UnixNano(), func(yield func(tree.Entry) bool) {
			for _, e := range first.entries {
				if e.Type == tree.File && e.Link == nil && !yield(e) {
					return
				}
			}
		}))
		known, err := ReadKnown(&list)
		must(t, err)
		_, c := send(t, Source{Root: root, Known: known})
		return c
	}
	later := time.Now().Add(time.Hour)
	must(t, os.WriteFile(filepath.Join(root, "plain"), []byte("more"), 0o644)) // the same length as before
	second := again(later)
	if len(second.data) != 1 || second.data["plain"] != "more" {
		t.Errorf("read again: %v", slices.Collect(keys(second.data)))
	}
	for path, e := range second.entries {
		if old := first.entries[path]; path != "plain" && (e.Digest != old.Digest || !reflect.DeepEqual(e.Segments, old.Segments)) {
			t.Errorf("%q: %+v, was %+v", path, e, old)
		}
	}
	if third := again(time.Unix(0, first.entries["plain"].CTime)); len(third.data) < 5 {
		t.Errorf("only %d files are read, although all were changed just before that backup", len(third.data))
	}
	for _, text := range []string{"{}{}{", "[]", `{"taken":1}{"path":3}`, `{"more":1}`} {
		if _, err := ReadKnown(strings.NewReader(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Files that cannot be backed up are named and counted, and all others, except skipped ones, are in the stream.
func TestProblems(t *testing.T) {
	root := place(t)
	must(t, os.WriteFile(filepath.Join(root, "a"), []byte("a"), 0o600))
	must(t, os.MkdirAll(filepath.Join(root, "skipped/x"), 0o755))
	const large = (asyncBuffers + 4) * tree.MaxData // more than an asyncWriter holds
	must(t, os.WriteFile(filepath.Join(root, "shrinks"), bytes.Repeat([]byte("x"), large), 0o600))
	must(t, os.WriteFile(filepath.Join(root, "z"), []byte("z"), 0o600))
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := Source{Root: root, Skip: map[string]bool{"skipped": true}}.Send(t.Context(), writer)
		writer.CloseWithError(err)
		ended <- err
	}()
	// Shrink the file once its first bytes have come.
	head := make([]byte, 300<<10)
	_, err := io.ReadFull(reader, head)
	must(t, err)
	must(t, os.Truncate(filepath.Join(root, "shrinks"), 10))
	rest, err := io.ReadAll(reader)
	must(t, errors.Join(err, <-ended))
	c := read(t, append(head, rest...))
	if len(c.problems) != 1 || string(c.problems[0].Path) != "shrinks" || !strings.Contains(c.problems[0].Reason, "shorter") {
		t.Errorf("%v", c.problems)
	}
	if _, there := c.entries["shrinks"]; there || len(c.entries) != 3 || c.summary.Problems != 1 {
		t.Errorf("%+v", c)
	}
	if os.Geteuid() != 0 {
		return // mounts and devices need root
	}
	must(t, unix.Mknod(filepath.Join(root, "device"), unix.S_IFBLK, int(unix.Mkdev(7, 99))))
	must(t, os.Mkdir(filepath.Join(root, "mounted"), 0o755))
	if err := unix.Mount("tmpfs", filepath.Join(root, "mounted"), "tmpfs", 0, ""); err == nil {
		defer unix.Unmount(filepath.Join(root, "mounted"), unix.MNT_DETACH)
	} else {
		t.Logf("NOT CHECKED: a mount: %v", err)
	}
	_, c = send(t, Source{Root: root})
	for _, name := range []string{"device", "mounted"} {
		if !slices.ContainsFunc(c.problems, func(p tree.Problem) bool { return string(p.Path) == name }) {
			t.Errorf("no problem with %s: %v", name, c.problems)
		}
	}
}

// Unpack fails if an entry does not fit the tree made so far or cannot be in a backup, if the directory is not empty,
// and if the stream ends early or does not match its checksums.
func TestHostileStreams(t *testing.T) {
	dir := tree.Entry{Path: []byte("."), Type: tree.Dir, Mode: 0o755}
	at := func(path string, typ tree.Type) tree.Entry {
		return tree.Entry{Path: []byte(path), Type: typ, Mode: 0o644}
	}
	link := at("link", tree.Symlink)
	link.Target = []byte("/tmp")
	for name, c := range map[string]struct {
		entries []tree.Entry
		want    string
	}{
		"no root":                         {[]tree.Entry{at("a", tree.Dir)}, "not the root"},
		"through a symlink":               {[]tree.Entry{dir, link, at("link/x", tree.Fifo)}, "does not follow its directory"},
		"a directory over a symlink":      {[]tree.Entry{dir, link, at("link", tree.Dir), at("link/x", tree.Fifo)}, "file exists"},
		"an entry twice":                  {[]tree.Entry{dir, at("a", tree.Fifo), at("a", tree.Fifo)}, "file exists"},
		"a directory twice":               {[]tree.Entry{dir, at("a", tree.Dir), at("a", tree.Dir)}, "file exists"},
		"in a directory without an entry": {[]tree.Entry{dir, at("a/b", tree.Fifo)}, "does not follow its directory"},
		"in a directory that is complete": {[]tree.Entry{dir, at("a", tree.Dir), at("b", tree.Dir), at("a/x", tree.Fifo)}, "does not follow its directory"},
		"a device":                        {[]tree.Entry{dir, {Path: []byte("d"), Type: tree.Block, Device: 0x700}}, "a device"},
		"a link to nothing":               {[]tree.Entry{dir, {Path: []byte("l"), Type: tree.File, Link: []byte("a")}}, "not there"},
		"a link to a directory":           {[]tree.Entry{dir, at("a", tree.Dir), {Path: []byte("l"), Type: tree.File, Link: []byte("a")}}, "not there"},
		"a link through a symlink":        {[]tree.Entry{dir, link, {Path: []byte("l"), Type: tree.File, Link: []byte("link/x")}}, "not there"},
		"a reused file":                   {[]tree.Entry{dir, {Path: []byte("r"), Type: tree.File, Reused: true, Digest: "00"}}, "has no data"},
	} {
		root := place(t)
		var stream bytes.Buffer
		w, err := tree.NewWriter(&stream, tree.Header{Version: tree.Version})
		must(t, err)
		for _, e := range c.entries {
			must(t, w.Entry(&e))
		}
		_, err = w.End()
		must(t, err)
		if _, err := Unpack(context.Background(), root, &stream); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	from := place(t)
	must(t, os.WriteFile(filepath.Join(from, "a"), []byte("data"), 0o600))
	stream, _ := send(t, Source{Root: from})
	whole := stored(t, stream)
	full := place(t)
	must(t, os.WriteFile(filepath.Join(full, "mine"), nil, 0o600))
	if _, err := Unpack(t.Context(), full, bytes.NewReader(whole)); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a directory with files: %v", err)
	}
	for i := range whole {
		if _, err := Unpack(t.Context(), place(t), bytes.NewReader(whole[:i])); err == nil {
			t.Errorf("the stream ends after %d of %d bytes, but there is no error", i, len(whole))
		}
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1
		if _, err := Unpack(t.Context(), place(t), bytes.NewReader(damaged)); err == nil {
			t.Errorf("byte %d of %d is wrong, but there is no error: %q", i, len(whole), whole[max(0, i-20):i+1])
		}
	}
}

// Attributes that the unpacking user may not set are listed, and the files are restored without them.
func TestLostAttributes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT CHECKED: needs root to make such files")
	}
	from := place(t)
	odd(t, from)
	stream, sent := send(t, Source{Root: from})
	to := place(t)
	must(t, os.Chown(to, 65534, 65534))
	cmd := exec.Command(os.Args[0], "-test.run=^TestUnpackAsNobody$", "-test.v")
	cmd.Env = append(os.Environ(), "HERMES_BOX_UNPACK="+to)
	cmd.Stdin = bytes.NewReader(stored(t, stream))
	out, err := runAsNobody(cmd)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"owner: owner 1234:4321", "capability: extended attribute \"security.capability\""} {
		if !strings.Contains(out, want) {
			t.Errorf("not listed: %s\n%s", want, out)
		}
	}
	_, back := send(t, Source{Root: to})
	if len(back.entries) < len(sent.entries)-1 { // with an old kernel the user nobody cannot make the whiteout
		t.Errorf("%d entries, were %d", len(back.entries), len(sent.entries))
	}
}

func runAsNobody(cmd *exec.Cmd) (string, error) {
	dir, err := os.MkdirTemp("", "hb")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "test") // other users may not be able to read the directory of the test binary
	data, err := os.ReadFile(cmd.Path)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(program, data, 0o755); err != nil {
		return "", err
	}
	cmd.Path, cmd.Dir = program, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestUnpackAsNobody(t *testing.T) {
	root := os.Getenv("HERMES_BOX_UNPACK")
	if root == "" {
		return
	}
	got, err := Unpack(t.Context(), root, os.Stdin)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got.Lost {
		fmt.Printf("%s: %s\n", p.Path, p.Reason)
	}
}
