package artifact

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"hermes-box/ops/lock"
)

// job describes what another process fetches.
type job struct {
	Dir       string
	Artifacts []lock.Artifact
}

// TestMain runs the tests, or one job in a process that a test has started.
func TestMain(m *testing.M) {
	text := os.Getenv("ARTIFACT_TEST_JOB")
	if text == "" {
		os.Exit(m.Run())
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		panic(err)
	}
	c, err := Open(j.Dir, Options{})
	if err == nil {
		fmt.Println("begun")
		err = c.Fetch(context.Background(), j.Artifacts, nil)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// start starts a process that fetches, and returns when it has begun.
func start(t *testing.T, env []string, dir string, artifacts ...lock.Artifact) *exec.Cmd {
	t.Helper()
	text, _ := json.Marshal(job{dir, artifacts})
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), "ARTIFACT_TEST_JOB="+string(text)), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd
}

func TestTwoProcessesFetchTheSame(t *testing.T) {
	var all []lock.Artifact
	var mu sync.Mutex
	asked := map[string]int{}
	gate := make(chan struct{})
	data := map[string][]byte{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		<-gate // both have begun
		serve(data[r.URL.Path], "")(w, r)
	}))
	defer srv.Close()
	for i := range 4 {
		path := fmt.Sprintf("/%d", i)
		data[path] = content(uint64(i), 3<<20)
		all = append(all, artifactOf(fmt.Sprint(i), srv.URL+path, data[path]))
	}
	dir := t.TempDir()
	one, two := start(t, nil, dir, all...), start(t, nil, dir, all...)
	close(gate)
	for _, p := range []*exec.Cmd{one, two} {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	c := cacheAt(t, dir, Options{})
	for _, a := range all {
		holds(t, c, a, data["/"+a.Name])
		if n := asked["/"+a.Name]; n != 1 {
			t.Errorf("%s was asked for %d times", a.Name, n)
		}
	}
	if got := files(t, dir); len(got) != len(all) {
		t.Errorf("files %q", got)
	}
}

// If a process is killed during a transfer, another one that waits for it continues the transfer.
func TestProcessKilledWhileAnotherWaits(t *testing.T) {
	data := content(1, 4<<20)
	const half = 2 << 20
	var ranges []string
	first := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		if len(ranges) > 1 {
			serve(data, "")(w, r)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data[:half])
		w.(http.Flusher).Flush()
		close(first)
		<-r.Context().Done()
	}))
	defer srv.Close()
	a := artifactOf("thing", srv.URL, data)
	dir := t.TempDir()
	one := start(t, nil, dir, a)
	<-first
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(filepath.Join(dir, partialName(a))); err == nil && info.Size() == half {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the first half never arrived on disk")
		}
	}
	two := start(t, nil, dir, a)
	if err := one.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := one.Wait(); err == nil {
		t.Fatal("the process had ended before it was killed")
	}
	if err := two.Wait(); err != nil {
		t.Fatal(err)
	}
	holds(t, cacheAt(t, dir, Options{}), a, data)
	if len(ranges) != 2 || ranges[1] != fmt.Sprintf("bytes=%d-", half) {
		t.Errorf("asked for %q", ranges)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("files %q", got)
	}
}

func TestProxyOfTheEnvironment(t *testing.T) {
	data := content(1, 1000)
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI)
		serve(data, "")(w, r)
	}))
	defer proxy.Close()
	a := artifactOf("thing", "http://artifacts.example.org/thing", data)
	dir := t.TempDir()
	if err := start(t, []string{"http_proxy=" + proxy.URL, "no_proxy="}, dir, a).Wait(); err != nil {
		t.Fatal(err)
	}
	holds(t, cacheAt(t, dir, Options{}), a, data)
	if len(asked) != 1 || asked[0] != a.URL {
		t.Errorf("the proxy was asked for %q", asked)
	}
}
