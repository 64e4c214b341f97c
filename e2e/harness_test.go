//go:build e2e

// Package e2e tests the product on a real VM with the real limactl and the real software. It runs inside `lab run`,
// which serves the artifacts. Most cases share one box, because boots are slow on emulated CPUs.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hermes-box/internal/sanitize"
)

var (
	keep     = flag.Bool("keep", false, "keep the box at the end")
	bench    = flag.Bool("bench", false, "run the benchmarks instead of the tests")
	onlyCase = flag.String("case", "", "run only this case; most need a box that an earlier run has kept")
	skip     = flag.String("skip", "", "cases not to run, separated by commas")
)

// lab holds the paths and the user of this run.
type lab struct {
	cache   string // made by `lab prepare`
	program string // the hermes-box under test
	limactl string
	root    string // of this run: config, lock and HERMES_BOX_HOME
	user    *user.User
}

// Ports of the e2e box, different from the defaults of a box that may run here.
const (
	executorPort  = 24788
	dashboardPort = 29119
)

func newLab(t *testing.T) *lab {
	t.Helper()
	cache := os.Getenv("HERMES_BOX_LAB")
	if cache == "" {
		t.Fatal("HERMES_BOX_LAB is not set: use make e2e")
	}
	name, err := exec.Command("go", "run", "./lab", "user").Output()
	if err != nil {
		t.Fatalf("lab user: %v", err)
	}
	u, err := user.Lookup(strings.TrimSpace(string(name)))
	if err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs("../hermes-box")
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{cache: cache, program: program, user: u, root: filepath.Join(u.HomeDir, "hb e2e")} // a home with a space must work
	l.limactl = filepath.Join(l.cache, "lima/bin/limactl")
	l.mkdir(t, l.root)
	return l
}

// mkdir makes a directory that belongs to the user who runs limactl.
func (l *lab) mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l.own(t, dir)
}

func (l *lab) own(t *testing.T, path string) {
	t.Helper()
	uid, _ := strconv.Atoi(l.user.Uid)
	gid, _ := strconv.Atoi(l.user.Gid)
	if err := os.Lchown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
}

// write writes a file that belongs to the user who runs limactl.
func (l *lab) write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	l.own(t, path)
}

func (l *lab) home() string     { return filepath.Join(l.root, "home") }
func (l *lab) limaHome() string { return filepath.Join(l.home(), "lima") }

// outcome is the result of one run of a program.
type outcome struct {
	stdout, stderr string
	status         int
	took           time.Duration
}

// run runs hermes-box on the box of this run.
func (l *lab) run(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	return l.runIn(t, l.root, stdin, args...)
}

func (l *lab) runIn(t *testing.T, dir, stdin string, args ...string) outcome {
	t.Helper()
	return l.command(t, l.cmd(t, dir, args...), stdin)
}

func (l *lab) cmd(t *testing.T, dir string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, l.program, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "HERMES_BOX_HOME="+l.home(), "HERMES_BOX_LIMACTL="+l.limactl, "HERMES_BOX_CONFIG=")
	c.WaitDelay = 10 * time.Second
	return c
}

// lima runs limactl directly, as the user who owns the VMs.
func (l *lab) lima(t *testing.T, args ...string) outcome {
	t.Helper()
	argv := append([]string{l.limactl}, args...)
	if os.Geteuid() == 0 {
		argv = append([]string{"runuser", "-u", l.user.Username, "--", "env", "HOME=" + l.user.HomeDir, "LIMA_HOME=" + l.limaHome()}, argv...)
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir = l.root
	c.Env = append(os.Environ(), "LIMA_HOME="+l.limaHome())
	return l.command(t, c, "")
}

func (l *lab) command(t *testing.T, c *exec.Cmd, stdin string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errs
	begun := time.Now()
	err := c.Run()
	o := outcome{stdout: out.String(), stderr: errs.String(), took: time.Since(begun)}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		o.status = exit.ExitCode()
	case err != nil:
		t.Fatalf("%v: %v", c.Args, err)
	}
	return o
}

// must is like run, but fails the test if the command fails. It returns stdout.
func (l *lab) must(t *testing.T, args ...string) string {
	t.Helper()
	o := l.run(t, "", args...)
	if o.status != 0 {
		t.Fatalf("hermes-box %q: status %d\n%s%s", args, o.status, o.stdout, o.stderr)
	}
	return o.stdout
}

// inBox runs a command in the box that must succeed, and returns its output.
func (l *lab) inBox(t *testing.T, args ...string) string {
	t.Helper()
	return l.must(t, append([]string{"exec", "--"}, args...)...)
}

// object is the output of a command with --json.
type object struct {
	OK     bool            `json:"ok"`
	Result json.RawMessage `json:"result"`
	Error  struct {
		Code, Message, Recovery string
	} `json:"error"`
}

func (l *lab) json(t *testing.T, result any, args ...string) object {
	t.Helper()
	o := l.run(t, "", append(args, "--json")...)
	var answer object
	if err := json.Unmarshal([]byte(o.stdout), &answer); err != nil {
		t.Fatalf("hermes-box %q: stdout is not one object: %v\n%s%s", args, err, o.stdout, o.stderr)
	}
	if result != nil {
		if !answer.OK {
			t.Fatalf("hermes-box %q: %s: %s\n%s", args, answer.Error.Code, answer.Error.Message, o.stderr)
		}
		if err := json.Unmarshal(answer.Result, result); err != nil {
			t.Fatal(err)
		}
	}
	return answer
}

// table lists the cases with their results and times.
type table struct{ rows []string }

func (tb *table) add(name, outcome string, took time.Duration) {
	tb.rows = append(tb.rows, fmt.Sprintf("%-62s %-7s %8.1f s", name, outcome, took.Seconds()))
}

func (tb *table) print() {
	fmt.Printf("\ncases on a real VM\n%s\n\n", strings.Join(tb.rows, "\n"))
}

// printVM prints the last lines of the logs of the VM and of its host agent, to explain a case that failed.
func (l *lab) printVM(name string) {
	for _, log := range []string{"serial.log", "ha.stderr.log"} {
		data, err := os.ReadFile(filepath.Join(l.limaHome(), "e2e", log))
		if err != nil {
			continue // the VM is gone
		}
		fmt.Printf("%s: end of %s\n%s\n", name, log, sanitize.LastLines(string(data), 40))
	}
}
