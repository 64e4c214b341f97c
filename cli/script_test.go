package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/rogpeppe/go-internal/testscript"

	"hermes-box/internal/rehearsal"
	"hermes-box/internal/rehearsal/demo"
	"hermes-box/ops/keys"
)

// TestMain runs the tests. If the test binary is started under the name of hermes-box, of cut-stream or of a program
// of the demo, such as limactl or ssh, it runs that program instead.
func TestMain(m *testing.M) {
	demo.Main()
	// A program built with the race detector sleeps for a second before it exits, and the tests run many.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	testOnlyPatience, _ = time.ParseDuration(os.Getenv(patienceVariable))
	testOnlyForwardWait, _ = time.ParseDuration(os.Getenv(forwardWaitVariable))
	testOnlyStayRoot, testOnlyAfterStep, testOnlyHelper, testOnlyKeyStore = true, afterStep, demo.Helper, keys.File
	testOnlyPassphraseWork = 10
	testscript.Main(m, map[string]func(){
		"hermes-box": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"limactl":    func() {},
		"ssh":        func() {},
		"cut-stream": cutStream,
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Condition: func(cond string) (bool, error) {
			return cond == runtime.GOARCH || cond == "root" && os.Geteuid() == 0, nil
		},
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			home, props := filepath.Join(env.WorkDir, "hb"), filepath.Join(env.WorkDir, "props")
			if err := errors.Join(os.Mkdir(props, 0o755), rehearsal.Link(props, demo.Props()...)); err != nil {
				return err
			}
			commands, system, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
			env.Setenv("PATH", strings.Join([]string{commands, props, system}, string(filepath.ListSeparator)))
			executor, dashboard := freePorts(t)
			caches := shortDir(t)
			demoDir := filepath.Join(caches, "hermes-box-demo") // the default directory on Linux, so that printed commands need not name it
			env.Vars = append(env.Vars, "HERMES_BOX_HOME="+home, "HERMES_BOX_CONFIG=", "HOME="+env.WorkDir, "XDG_CACHE_HOME="+caches, "LIMA="+home+"/lima",
				demo.DirVariable+"="+demoDir, demo.PaceVariable+"=0", "DEMO="+demoDir,
				fmt.Sprint("PORT=", executor), "GORACE="+os.Getenv("GORACE"))
			config := fmt.Sprintf("schema: 1\nname: main\nports: {executor: %d, dashboard: %d}\n", executor, dashboard)
			return errors.Join(os.WriteFile(filepath.Join(env.WorkDir, "hermes-box.lock"), lockFixture(t), 0o644),
				os.WriteFile(filepath.Join(env.WorkDir, "hermes-box.yaml"), []byte(config), 0o644))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"port": hold, "answers": answers, "idle": idle, "edit": edit, "touch-future": touchFuture, "identity": identity, "backup-id": backupID,
			"first-of-path": func(ts *testscript.TestScript, _ bool, _ []string) {
				first, _, _ := strings.Cut(ts.Getenv("PATH"), ":")
				ts.Setenv("PATH", first)
			},
			"chown-nobody": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.Chown(ts.MkAbs(args[0]), 65534, 65534))
			},
		},
	})
}

// lockFixture returns a valid lock whose artifacts do not exist anywhere.
func lockFixture(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/hermes-box.lock")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// hold listens on a loopback port until the script ends.
func hold(ts *testscript.TestScript, _ bool, args []string) {
	l, err := listen(strings.Join(args, ""))
	ts.Check(err)
	ts.Defer(func() { l.Close() })
}

// answers waits until the address in a file answers; with "!" it waits until the address no longer answers.
func answers(ts *testscript.TestScript, neg bool, args []string) {
	address := strings.TrimSpace(ts.ReadFile(args[0]))
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get(address)
		if err == nil {
			resp.Body.Close()
		}
		if (err != nil) == neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: %v", address, err)
		}
	}
}

// idle waits until no process has a path that begins with the directory on its command line or in its LIMA_HOME.
func idle(ts *testscript.TestScript, _ bool, args []string) {
	dir := []byte(args[0])
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var running []string
		processes, _ := filepath.Glob("/proc/[0-9]*") // empty on macOS
		for _, p := range processes {
			line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
			env, _ := os.ReadFile(filepath.Join(p, "environ"))
			if bytes.Contains(line, dir) || bytes.Contains(env, append([]byte("LIMA_HOME="), dir...)) {
				running = append(running, filepath.Base(p)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
			}
		}
		if len(running) == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("still running: %s", strings.Join(running, "; "))
		}
	}
}

// edit replaces all occurrences of a text in a file.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	data := ts.ReadFile(args[0])
	if !strings.Contains(data, args[1]) {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(data, args[1], args[2])), 0o644))
}

// identity writes an age identity into a file and puts its recipient into a variable.
func identity(ts *testscript.TestScript, _ bool, args []string) {
	made, err := age.GenerateX25519Identity()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(made.String()+"\n"), 0o600))
	ts.Setenv(args[1], made.Recipient().String())
}

// backupID puts the id of the demo's backup with a label into a variable.
func backupID(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("hermes-box", "--demo", "backup", "list"))
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		if id, _, _ := strings.Cut(line, " "); strings.HasSuffix(id, "-"+args[0]) {
			ts.Setenv(args[1], id)
			return
		}
	}
	ts.Fatalf("no backup has the label %q", args[0])
}

func touchFuture(ts *testscript.TestScript, _ bool, args []string) {
	at := time.Now().AddDate(0, 0, 3)
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), at, at))
}
