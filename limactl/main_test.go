package limactl

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
)

func TestMain(m *testing.M) {
	rehearsal.Main()
	// A program built with the race detector sleeps for a second before it exits, and the tests run many.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// stage returns a Client that runs the stand-ins of limactl and ssh, with a LIMA_HOME of its own. When the test ends,
// its instances are killed.
func stage(t *testing.T) *Client {
	t.Helper()
	// Not t.TempDir, whose path contains the name of the test: paths of sockets must be short.
	dir, err := os.MkdirTemp("", "hb")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	limactl, ssh, err := rehearsal.Install(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{Program: limactl, SSH: ssh, Home: filepath.Join(dir, "lima")})
	c.probe = func() Accel { return Accel{Name: "kvm"} }
	if err := os.Mkdir(c.Home(), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range c.named() {
			if err := c.Kill(context.Background(), name); err != nil {
				t.Error(err)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return c
}

// machine returns a small machine that names a disk.
func machine(name, disk string) Machine {
	return Machine{Name: name, VMType: "qemu", Arch: "amd64", CPUs: 2, Memory: 1 << 30, RootDisk: 4 << 30, Image: "/dev/null", Disk: disk}
}

// create makes an instance with its data disk.
func create(t *testing.T, c *Client, name string) {
	t.Helper()
	yaml, err := machine(name, name+"-data").YAML()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CreateDisk(t.Context(), name+"-data", 1<<20); err != nil && !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), name, yaml); err != nil {
		t.Fatal(err)
	}
}

// running makes an instance and starts it.
func running(t *testing.T, c *Client, name string) {
	t.Helper()
	create(t, c, name)
	if err := c.Start(t.Context(), name, time.Minute, nil); err != nil {
		t.Fatal(err)
	}
}

func inject(t *testing.T, c *Client, faults ...rehearsal.Fault) {
	t.Helper()
	if err := rehearsal.Inject(c.Home(), faults...); err != nil {
		t.Fatal(err)
	}
}

func heal(t *testing.T, c *Client, faults ...rehearsal.Fault) {
	t.Helper()
	if err := rehearsal.Heal(c.Home(), faults...); err != nil {
		t.Fatal(err)
	}
}

func wantState(t *testing.T, c *Client, name string, want State) Instance {
	t.Helper()
	in, err := c.Instance(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if in.State != want {
		t.Fatalf("state of %s is %s (%s), want %s", name, in.State, in.Cause, want)
	}
	return in
}

func TestVersion(t *testing.T) {
	c := stage(t)
	v, err := c.Version(t.Context())
	if err != nil || v != rehearsal.Version {
		t.Fatalf("Version() = %q, %v", v, err)
	}
}

func TestNotInstalled(t *testing.T) {
	c := New(Config{Program: "no-such-limactl", Home: t.TempDir()})
	_, err := c.Version(t.Context())
	if !errors.Is(err, ErrNotInstalled) {
		t.Fatalf("got %v", err)
	}
	var hint interface{ Recovery() string }
	if !errors.As(err, &hint) || hint.Recovery() == "" {
		t.Error("no hint")
	}
}

// limactl refuses to run as root.
func TestRefusesRoot(t *testing.T) {
	c := stage(t)
	inject(t, c, rehearsal.RefuseRoot)
	if _, err := c.Version(t.Context()); err == nil || err.Error() != "limactl refuses to run as root" {
		t.Fatalf("got %v", err)
	}
}

// The Lima settings of the user's environment are dropped.
func TestEnvironment(t *testing.T) {
	c := New(Config{Home: "/h", Env: []string{"LIMA_HOME=/other", "LIMA_SHELL=x", "PATH=/bin"}})
	if want := []string{"PATH=/bin", "LIMA_HOME=/h"}; !slices.Equal(c.env, want) {
		t.Fatalf("env = %q, want %q", c.env, want)
	}
}

func TestLog(t *testing.T) {
	c := stage(t)
	var logged []Command
	c.config.Log = func(cmd Command) { logged = append(logged, cmd) }
	if _, err := c.run(t.Context(), time.Minute, []byte("secret"), "list", "nope"); err == nil {
		t.Fatal("no error")
	}
	if len(logged) != 1 {
		t.Fatalf("%d commands logged", len(logged))
	}
	got := logged[0]
	if got.Status != 1 || got.Err == nil || got.Duration <= 0 || !slices.Equal(got.Args[1:], []string{"list", "nope"}) {
		t.Errorf("logged %+v", got)
	}
	if strings.Contains(got.Stderr+strings.Join(got.Args, ""), "secret") {
		t.Error("stdin is in the log")
	}
}

func TestCommandIsBounded(t *testing.T) {
	c := stage(t)
	inject(t, c, rehearsal.ListHangs)
	_, err := c.run(t.Context(), 50*time.Millisecond, nil, "list")
	if !errors.Is(err, ErrTimeout) {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err = c.Instance(ctx, "main"); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"main": true, "a-b": true, "a.b_c": true, "A1": true,
		"": false, "-f": false, "--all": false, "a/b": false, "..": false, "a b": false, "a-": false, "a--b": false, "*": false,
		strings.Repeat("a", 77): false,
	} {
		if err := checkName("instance", name); (err == nil) != ok {
			t.Errorf("checkName(%q) = %v", name, err)
		}
	}
}

// named returns the names of the instances that have a directory in LIMA_HOME.
func (c *Client) named() []string {
	entries, _ := os.ReadDir(c.config.Home)
	var names []string
	for _, e := range entries {
		if checkName("instance", e.Name()) != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(c.Dir(e.Name()), "lima.yaml")); err == nil {
			names = append(names, e.Name())
		}
	}
	return names
}
