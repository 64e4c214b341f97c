package machine

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"hermes-box/guest/protocol"
)

func TestRun(t *testing.T) {
	m := New()
	out, err := m.Run(t.Context(), Cmd{Path: "sh", Args: []string{"-c", "echo out; echo err >&2; cat; pwd; echo $LANG"},
		Dir: "/", Stdin: strings.NewReader("in\n")})
	if err != nil || string(out) != "out\nerr\nin\n/\nC.UTF-8\n" {
		t.Errorf("%q, %v", out, err)
	}
	var stream bytes.Buffer
	out, err = m.Run(t.Context(), Cmd{Path: "sh", Args: []string{"-c", "echo out; echo err >&2"}, Stdout: &stream})
	if err != nil || stream.String() != "out\n" || string(out) != "err\n" {
		t.Errorf("streamed %q, returned %q, %v", stream.String(), out, err)
	}
	_, err = m.Run(t.Context(), Cmd{Path: "sh", Args: []string{"-c", "seq 100; exit 7"}})
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Status != 7 || strings.Count(exit.Output, "\n") != 19 || !strings.HasSuffix(exit.Output, "\n100") {
		t.Errorf("%v, %+v", err, exit)
	}
	_, err = m.Run(t.Context(), Cmd{Path: "/no/such/program"})
	if !errors.As(err, &exit) || exit.Status != -1 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, %+v", err, exit)
	}
	if _, err = m.Run(t.Context(), Cmd{Path: "true", User: "no-such-user"}); !errors.As(err, &exit) || exit.Status != -1 {
		t.Errorf("%v", err)
	}
}

// When a command is killed, so are its children.
func TestRunEnds(t *testing.T) {
	for name, c := range map[string]Cmd{
		"time is up":        {Timeout: 300 * time.Millisecond},
		"the caller is off": {Timeout: -1},
	} {
		pidFile := filepath.Join(t.TempDir(), "pid")
		if err := syscall.Mkfifo(pidFile, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c.Path, c.Args = "sh", []string{"-c", `sleep 1000 & echo $! >"$0"; wait`, pidFile}
		done := make(chan error, 1)
		go func() {
			_, err := New().Run(ctx, c)
			done <- err
		}()
		text, err := os.ReadFile(pidFile) // waits until the child runs
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if c.Timeout < 0 {
			cancel()
		}
		err = <-done
		var exit *ExitError
		if !errors.As(err, &exit) || exit.Status != -1 {
			t.Errorf("%s: %v", name, err)
		}
		if c.Timeout > 0 && !strings.Contains(err.Error(), "did not end within 300ms") {
			t.Errorf("%s: %v", name, err)
		}
		if !gone(pid) {
			t.Errorf("%s: its child %d still runs", name, pid)
		}
	}
}

// gone waits until a killed process has ended. A zombie counts as ended, because init may be slow.
func gone(pid int) bool {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return true
		}
	}
	return false
}

func TestTail(t *testing.T) {
	var k tail
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 20 {
		k.Write(chunk)
	}
	k.Write([]byte("end"))
	if n := len(k.bytes()); n < maxOutput || n > 2*maxOutput || !bytes.HasSuffix(k.bytes(), []byte("end")) {
		t.Errorf("kept %d bytes", n)
	}
}

// An image with a wrong digest is removed by its tag: a running release may have the same image id.
func TestLoadImageOfAnotherDigest(t *testing.T) {
	dir := t.TempDir()
	script := `#!/bin/sh
echo "$*" >>"$0.log"
case "$1 $2" in
"pull "*) echo 0123abcd ;;
"image inspect") echo sha256:found ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "podman"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for digest, want := range map[string]string{
		"sha256:found":  "pull --quiet oci:/layout\nimage inspect --format {{.Digest}} 0123abcd\ntag 0123abcd the/tag:1\n",
		"sha256:wanted": "pull --quiet oci:/layout\nimage inspect --format {{.Digest}} 0123abcd\ntag 0123abcd the/tag:1\nimage exists the/tag:1\nrmi the/tag:1\n",
	} {
		os.Remove(filepath.Join(dir, "podman.log"))
		err := New().LoadImage(t.Context(), "/layout", digest, "the/tag:1")
		if (err == nil) != (digest == "sha256:found") {
			t.Errorf("%s: %v", digest, err)
		}
		if ran, _ := os.ReadFile(filepath.Join(dir, "podman.log")); string(ran) != want {
			t.Errorf("%s: ran\n%s", digest, ran)
		}
	}
}

func TestUnitPath(t *testing.T) {
	for unit, want := range map[string]string{"hermes.service": "hermes_2eservice", "hermes-box-recovery.service": "hermes_2dbox_2drecovery_2eservice",
		"1x": "_31x", "a1_b": "a1_5fb"} {
		if got := unitPath(unit); string(got) != "/org/freedesktop/systemd1/unit/"+want || !got.IsValid() {
			t.Errorf("%s: %s", unit, got)
		}
	}
}

func TestUnitProperties(t *testing.T) {
	var u Unit
	for name, value := range map[string]any{"ActiveState": "active", "SubState": "running", "Result": "oom-kill",
		"ActiveEnterTimestamp": uint64(1796000000000000), "NRestarts": uint32(2), "Job": []any{uint32(7), dbus.ObjectPath("/j")}, "Other": "x"} {
		u.set(name, value)
	}
	if want := (Unit{Active: "active", Sub: "running", Result: "oom-kill", Since: time.Unix(1796000000, 0), Restart: 2, Queued: true}); u != want {
		t.Errorf("%+v; want %+v", u, want)
	}
	u.set("ActiveEnterTimestamp", uint64(0))
	u.set("NRestarts", "not a number")
	if u.set("Job", []any{uint32(0), dbus.ObjectPath("/")}); u.Queued {
		t.Error("no job is a job")
	}
}

func TestParseBlkid(t *testing.T) {
	for text, want := range map[string]Disk{
		"DEVNAME=/dev/vdb\nUUID=ABCD-12\nTYPE=ext4\nUSAGE=filesystem\n": {Type: "ext4", UUID: "abcd-12"},
		"DEVNAME=/dev/vdb\nPTUUID=1\nPTTYPE=gpt\n":                      {Type: "gpt partition table"},
		"DEVNAME=/dev/vdb\n": {Type: "unknown signature"},
		"":                   {Type: "unknown signature"},
	} {
		if got := parseBlkid(text); got != want || got.Blank {
			t.Errorf("%q: %+v; want %+v", text, got, want)
		}
	}
}

func TestZeroEnds(t *testing.T) {
	const size = 5 * mib
	for name, c := range map[string]struct {
		at   int64
		zero bool
	}{"blank": {-1, true}, "first byte": {0, false}, "end of the first MiB": {mib - 1, false}, "last byte": {size - 1, false},
		"start of the last MiB": {size - mib, false}, "middle": {2 * mib, true}} {
		data := make([]byte, size)
		if c.at >= 0 {
			data[c.at] = 1
		}
		n, zero, err := zeroEnds(bytes.NewReader(data))
		if err != nil || n != size || zero != c.zero {
			t.Errorf("%s: %d, %v, %v", name, n, zero, err)
		}
	}
	if _, _, err := zeroEnds(bytes.NewReader(make([]byte, mib))); err == nil {
		t.Error("a disk too small to be looked at was accepted")
	}
}

func TestDiskIsADevice(t *testing.T) {
	m := New()
	for _, path := range []string{t.TempDir(), "/dev/null", "/no/such/disk"} {
		if d, err := m.Disk(t.Context(), path); err == nil {
			t.Errorf("%s: %+v", path, d)
		}
	}
}

func TestMounted(t *testing.T) {
	const table = "25 1 254:0 / / rw - ext4 /dev/vda rw\n40 25 254:16 / /data rw,noatime shared:1 - ext4 /dev/vdb rw\nshort\n"
	for path, want := range map[string]bool{"/": true, "/data": true, "/dat": false, "/data/home": false, "": false} {
		if got := mounted(table, path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	if id, err := New().MountedUUID(t.Context(), t.TempDir()); id != "" || err != nil {
		t.Errorf("an ordinary directory: %q, %v", id, err)
	}
}

func TestUsage(t *testing.T) {
	if u := New().Usage(t.TempDir()); u.Used <= 0 || u.Used > u.Total {
		t.Errorf("%+v", u)
	}
	if u := New().Usage("/no/such/place"); u != (protocol.Usage{}) {
		t.Errorf("of nothing: %+v", u)
	}
}

func TestInstalledVersion(t *testing.T) {
	for text, want := range map[string]string{"installed 1.2-3": "1.2-3", "config-files 1.2-3": "", "not-installed ": "", "": "", "unpacked 1": ""} {
		if got := installedVersion(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestAsk(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/big":
			w.Write(make([]byte, 2*maxAnswer))
		default:
			w.WriteHeader(401)
			w.Write([]byte(r.Method + r.Header.Get("X-A")))
		}
	}))
	defer srv.Close()
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // must not be asked
	m := New()
	if status, body, err := m.Get(t.Context(), srv.URL, map[string]string{"X-A": "b"}); status != 401 || string(body) != "GETb" || err != nil {
		t.Errorf("%d %q %v", status, body, err)
	}
	if status, body, err := m.Post(t.Context(), srv.URL, nil, []byte("x")); status != 401 || string(body) != "POST" || err != nil {
		t.Errorf("%d %q %v", status, body, err)
	}
	if status, _, err := m.Get(t.Context(), srv.URL+"/moved", nil); status != 302 || err != nil {
		t.Errorf("a redirect was followed: %d, %v", status, err)
	}
	if _, body, err := m.Get(t.Context(), srv.URL+"/big", nil); len(body) != maxAnswer || err != nil {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}
