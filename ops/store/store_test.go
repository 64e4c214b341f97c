package store

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/ops/fault"
)

func open(t *testing.T) Home {
	t.Helper()
	h, err := Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestOpenIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/hermes-box"} {
		_, err := Open(dir)
		if fault.CodeOf(err) != fault.PreflightFailed || fault.HintOf(err) == "" || !strings.Contains(err.Error(), dir) {
			t.Errorf("Open(%s): %v", dir, err)
		}
	}
}

func TestRecordRoundTrip(t *testing.T) {
	h := open(t)
	if _, err := h.Record("main"); !errors.Is(err, ErrNoBox) {
		t.Fatalf("Record of nothing: %v", err)
	}
	want := &Record{Name: "main", ConfigDir: "/c", Instance: "main", Disk: "main-data", Created: time.Now().UTC().Round(0)}
	if err := h.SaveRecord(want); err != nil {
		t.Fatal(err)
	}
	got, err := h.Record("main")
	if err != nil || *got != *want {
		t.Fatalf("got %+v, %v", got, err)
	}
	if err := h.RemoveRecord("main"); err != nil {
		t.Fatal(err)
	}
	if err := h.RemoveRecord("main"); err != nil {
		t.Errorf("removing twice: %v", err)
	}
}

func TestDamagedRecordIsNeverABox(t *testing.T) {
	h := open(t)
	for _, text := range []string{"", "{", `{"schema":2,"name":"main"}`, `{"schema":1,"name":"other"}`, `{"schema":1,"name":"main","extra":1}`} {
		if err := os.WriteFile(h.record("main"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := h.Record("main"); err == nil || errors.Is(err, ErrNoBox) || fault.HintOf(err) == "" {
			t.Errorf("%q gives %+v, %v", text, r, err)
		}
	}
}

// The error for a file of a newer version names that version, instead of calling the file damaged.
func TestWrittenByANewerVersion(t *testing.T) {
	h := open(t)
	read := map[string]func() error{
		h.record("main"):  func() error { _, err := h.Record("main"); return err },
		h.journal("main"): func() error { _, err := h.Journal("main"); return err },
	}
	for path, read := range read {
		for _, c := range []struct{ text, message, hint string }{
			{`{"schema":2,"written_by":"v9.1","name":"main"}`, "was written by hermes-box v9.1 in schema 2; this is hermes-box dev, which reads schema 1", "use hermes-box v9.1 or a later version"},
			{`{"schema":2,"name":"main","operation":"create"}`, "was written by another version of hermes-box in schema 2", "use a later version of hermes-box"},
			{`{"schema":1,"written_by":"v9.1","name":"main","operation":"create","extra":1}`, `was written by hermes-box v9.1; this is hermes-box dev, which cannot read it: json: unknown field`, "use hermes-box v9.1"},
			{`{"schema":1,"written_by":"dev","name":"main","operation":"create","extra":1}`, `is damaged: json: unknown field`, "put a good copy back"},
		} {
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := read()
			if fault.CodeOf(err) != fault.IntegrityFailed || !strings.Contains(err.Error(), path+" "+c.message) || !strings.HasPrefix(fault.HintOf(err), c.hint) {
				t.Errorf("%s: %v, hint %q", c.text, err, fault.HintOf(err))
			}
		}
	}
	if err := h.SaveRecord(&Record{Name: "main"}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(h.record("main")); err != nil || !strings.Contains(string(data), `"written_by": "dev"`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestDamagedJournalIsRefused(t *testing.T) {
	h := open(t)
	for _, text := range []string{"", "{", "null", "{}", `{"operation":"create","extra":1}`} {
		if err := os.WriteFile(h.journal("main"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if j, err := h.Journal("main"); j != nil || fault.CodeOf(err) != fault.IntegrityFailed || !strings.Contains(fault.HintOf(err), "mv "+h.journal("main")) {
			t.Errorf("%q gives %+v, %v", text, j, err)
		}
	}
}

// If another process holds the lock, the error of Lock names that process. The test starts this test program as the
// other process.
func TestLockNamesTheHolder(t *testing.T) {
	if dir := os.Getenv("STORE_TEST_HOLD"); dir != "" {
		if _, err := Home(dir).Lock("main", "create"); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("held\n")
		os.Stdin.Read(make([]byte, 1)) // until the parent closes it
		os.Exit(0)
	}
	h := open(t)
	c := exec.Command(os.Args[0], "-test.run=^TestLockNamesTheHolder$")
	c.Env = append(os.Environ(), "STORE_TEST_HOLD="+string(h))
	hold, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if by := h.Holder("main"); by == nil || by.PID != c.Process.Pid || by.Command != "create" || time.Since(by.Started).Abs() > time.Minute {
		t.Errorf("held by %+v", by)
	}
	if by := h.Holder("other"); by != nil {
		t.Errorf("a free lock is held by %+v", by)
	}
	_, err = h.Lock("main", "create")
	if fault.CodeOf(err) != fault.Busy || !strings.Contains(err.Error(), "(create)") || fault.DetailsOf(err)["pid"] != c.Process.Pid {
		t.Errorf("locked twice: %v %v", err, fault.DetailsOf(err))
	}
	if other, err := h.Lock("other", "create"); err != nil {
		t.Errorf("another box: %v", err)
	} else {
		other.Unlock()
	}
	hold.Close()
	c.Wait()
	l, err := h.Lock("main", "create")
	if err != nil {
		t.Fatalf("after the holder ended: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestWriteFileLeavesNothingBeside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"one", "two"} {
		if err := WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("got %q", got)
		}
	}
	if err := WriteFile(filepath.Join(dir, "none", "f"), nil, 0o600); err == nil {
		t.Error("no error for a missing directory")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}

// A record or a lock that is not a regular file is an error, and is neither read nor written. A record that is too
// large is an error too.
func TestOnlyRegularFilesAreReadAndLocked(t *testing.T) {
	theirs := filepath.Join(t.TempDir(), "theirs")
	for name, put := range map[string]func(path string) error{
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link": func(path string) error {
			return errors.Join(os.WriteFile(theirs, []byte("theirs"), 0o600), os.Symlink(theirs, path))
		},
		"too large": func(path string) error {
			return errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Truncate(path, 3<<30))
		},
	} {
		h := open(t)
		if err := errors.Join(put(h.record("main")), put(h.lock("main"))); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Record("main"); fault.CodeOf(err) != fault.IntegrityFailed || fault.HintOf(err) == "" {
			t.Errorf("%s as a record: %v", name, err)
		}
		if by := h.Holder("main"); by != nil {
			t.Errorf("%s as a lock is held by %+v", name, by)
		}
		if name == "too large" { // Lock overwrites its content
			continue
		}
		if _, err := h.Lock("main", "create"); fault.CodeOf(err) != fault.IntegrityFailed || fault.HintOf(err) == "" {
			t.Errorf("%s as a lock: %v", name, err)
		}
	}
	if text, err := os.ReadFile(theirs); err != nil || string(text) != "theirs" {
		t.Errorf("the target of the link: %q, %v", text, err)
	}
}

// The next operation on a box removes the temporary files of a killed write for that box, and no other files.
func TestLockRemovesTemporaryFiles(t *testing.T) {
	h := open(t)
	dir := filepath.Join(string(h), "boxes")
	temporary := func(path string) string { // named as by WriteFile
		f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		return f.Name()
	}
	removed := []string{temporary(h.record("main")), temporary(h.journal("main")), temporary(h.seen("main"))}
	kept := []string{temporary(h.record("main-2")), temporary(h.record("other")), h.record("main"), filepath.Join(dir, ".main.json-copy"), filepath.Join(dir, "main.json-1")}
	for _, path := range kept {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := h.Lock("main", "start")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	for _, path := range removed {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}
