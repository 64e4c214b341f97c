package ssh_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-box/guest"
	"hermes-box/guest/durable"
	"hermes-box/guest/protocol"
	"hermes-box/guest/serve"
	"hermes-box/internal/rehearsal"
	"hermes-box/internal/rehearsal/simulate"
	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
)

// helperVariable marks a process as the helper in an instance.
const helperVariable = "HERMES_BOX_SSH_TEST_HELPER"

// rootVariable names the directory that is / of the guest for such a helper.
const rootVariable = "HERMES_BOX_SSH_TEST_ROOT"

// TestMain runs limactl, ssh or the helper if a test started this program as one of them.
func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		os.Unsetenv(helperVariable)
		root := os.Getenv(rootVariable)
		os.Exit(serve.Helper{Open: func(string) *guest.Guest {
			return &guest.Guest{Tree: durable.Tree{Root: root}, Machine: simulate.Open(root)}
		}}.Main(os.Args[1:]))
	}
	rehearsal.Main()
	// A program built with the race detector sleeps for a second before it exits, and the tests run many.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// box is the name of the instance that tests run on.
const box = "main"

// stage returns a client that runs the stand-ins of limactl and ssh, with a LIMA_HOME of its own and one stopped
// instance. When the test ends, the instance is killed.
func stage(t *testing.T) *limactl.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "hb") // not t.TempDir, whose path contains the name of the test: paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	program, sshProgram, err := rehearsal.Install(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := limactl.New(limactl.Config{Program: program, SSH: sshProgram, Home: filepath.Join(dir, "lima"),
		Accel: func() limactl.Accel { return limactl.Accel{Name: "kvm"} }})
	t.Cleanup(func() {
		if err := c.Kill(context.Background(), box); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	m := limactl.Machine{Name: box, VMType: "qemu", Arch: "amd64", CPUs: 2, Memory: 1 << 30, RootDisk: 4 << 30, Image: "/dev/null", Disk: "data"}
	yaml, err := m.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(c.Home(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateDisk(t.Context(), "data", 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), box, yaml); err != nil {
		t.Fatal(err)
	}
	return c
}

// running returns the client of stage with the instance started.
func running(t *testing.T) *limactl.Client {
	t.Helper()
	c := stage(t)
	if err := c.Start(t.Context(), box, time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// withHelper makes the client run this program as the helper. rootVariable is not set, since the tests that use it need
// no files of a guest.
func withHelper(t *testing.T, c *limactl.Client) *limactl.Client {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.Helper = filepath.Join(t.TempDir(), "helper")
	if err := os.WriteFile(c.Helper, []byte("#!/bin/sh\n"+helperVariable+"=1 exec "+program+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func inject(t *testing.T, c *limactl.Client, faults ...rehearsal.Fault) {
	t.Helper()
	if err := rehearsal.Inject(c.Home(), faults...); err != nil {
		t.Fatal(err)
	}
}

func heal(t *testing.T, c *limactl.Client, faults ...rehearsal.Fault) {
	t.Helper()
	if err := rehearsal.Heal(c.Home(), faults...); err != nil {
		t.Fatal(err)
	}
}

// target is an instance that is up, and the client for it.
type target struct {
	client *limactl.Client
	name   string
}

// eachBox runs a test on the rehearsal's instance and, over real ssh, on the running instance that HERMES_BOX_LAB_BOX
// names as "home:name", if it is set. On each it runs the test once with the helper and once with the script.
func eachBox(t *testing.T, test func(t *testing.T, on target)) {
	t.Run("rehearsal", func(t *testing.T) { test(t, target{withHelper(t, running(t)), box}) })
	t.Run("rehearsal without the helper", func(t *testing.T) { test(t, target{running(t), box}) })
	for how, helper := range map[string]string{"real": labHelper(), "real without the helper": ""} {
		t.Run(how, func(t *testing.T) {
			home, name, ok := strings.Cut(os.Getenv("HERMES_BOX_LAB_BOX"), ":")
			if !ok {
				t.Skip("NOT CHECKED over real ssh: HERMES_BOX_LAB_BOX does not name a running box")
			}
			test(t, target{limactl.New(limactl.Config{Home: home, Helper: helper}), name})
		})
	}
}

// labHelper returns the path of the helper in the instance of HERMES_BOX_LAB_BOX. HERMES_BOX_LAB_HELPER sets another
// path, so that the tests can run on any machine with sshd.
func labHelper() string {
	if path := os.Getenv("HERMES_BOX_LAB_HELPER"); path != "" {
		return path
	}
	return protocol.HelperPath
}

// exec runs a command and returns its output.
func (on target) exec(ctx context.Context, e ssh.Exec) (stdout, stderr string, err error) {
	var out, diag strings.Builder
	e.Stdout, e.Stderr = &out, &diag
	err = on.client.Exec(ctx, on.name, e)
	return out.String(), diag.String(), err
}
