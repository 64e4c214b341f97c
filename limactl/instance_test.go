package limactl

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     string // names
		bad      bool
	}{
		{"nothing", "", "", false},
		{"blank", "\n \n", "", false},
		{"one", `{"name":"a"}`, "a", false},
		{"lines", "{\"name\":\"a\"}\n{\"name\":\"b\"}\n", "a b", false},
		{"array, as one release printed (colima #572)", `[{"name":"a"},{"name":"b"}]`, "a b", false},
		{"indented", "{\n  \"name\": \"a\"\n}\n{\n  \"name\": \"b\"\n}", "a b", false},
		{"noise before", "hello\n{\"name\":\"a\"}", "a", false},
		{"noise between and after", "{\"name\":\"a\"}\nhello\n{\"name\":\"b\"}\nbye", "a b", false},
		{"CRLF", "{\"name\":\"a\"}\r\n", "a", false},
		{"cut off", `{"name":"a"`, "", true},
		{"wrong type", `{"name":1}`, "", true},
		{"array of strings", `["a"]`, "", true},
	} {
		list, err := decode[listed]([]byte(tt.in))
		if (err != nil) != tt.bad {
			t.Errorf("%s: error %v", tt.name, err)
			continue
		}
		var names []string
		for _, l := range list {
			names = append(names, l.Name)
		}
		if got := strings.Join(names, " "); !tt.bad && got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("{\"name\":\"a\"}\nhello\n[{\"name\":\"b\"}]"))
	f.Add([]byte("{"))
	f.Add([]byte(`{"name":"a"}{"name":"b"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := decode[listed](data)
		if err != nil {
			return
		}
		// Encoding the objects as Lima does and decoding them again must give as many objects.
		var again bytes.Buffer
		for _, l := range list {
			if err := json.NewEncoder(&again).Encode(l); err != nil {
				t.Fatal(err)
			}
		}
		second, err := decode[listed](again.Bytes())
		if err != nil || len(second) != len(list) {
			t.Fatalf("%d objects decoded, then %d: %v", len(list), len(second), err)
		}
	})
}

func FuzzLogField(f *testing.F) {
	f.Add(`time="x" level=warning msg="a \"b\"" errors="[c]"`, "errors")
	f.Add(`msg=`, "msg")
	f.Fuzz(func(t *testing.T, line, key string) { logField(line, key) })
}

func TestLogField(t *testing.T) {
	line := `time="2026-01-01T00:00:00Z" level=warning msg="instance ` + "`box`" + ` has errors" errors="[a \"b\"\n c]"`
	for key, want := range map[string]string{"level": "warning", "msg": "instance `box` has errors", "errors": "[a \"b\"\n c]", "none": ""} {
		if got := logField(line, key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if got := logMessage("plain text = here"); got != "plain text = here" {
		t.Errorf("got %q", got)
	}
	if got := listErrors(line+"\n", "box"); got != "a \"b\"\n c" {
		t.Errorf("errors of box: %q", got)
	}
}

func TestInstance(t *testing.T) {
	c := stage(t)
	if _, err := c.Instance(t.Context(), "main"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("unknown name: %v", err)
	}
	create(t, c, "main")
	create(t, c, "main-2")
	in := wantState(t, c, "main", Stopped)
	if in.Name != "main" || in.Arch != "amd64" || in.VMType != "qemu" || in.CPUs != 2 || in.Memory != 1<<30 || in.Disk != 4<<30 || in.Raw != "Stopped" ||
		len(in.Disks) != 1 || in.Disks[0] != "main-data" || in.Dir != c.Dir("main") {
		t.Errorf("got %+v", in)
	}
	// A prefix of a name does not match.
	if _, err := c.Instance(t.Context(), "mai"); !errors.Is(err, ErrNotFound) {
		t.Errorf("prefix of a name: %v", err)
	}
}

// A directory that is not an instance does not hide the others, although limactl list then fails (lima #5236).
func TestStrayDirectory(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	if err := os.Mkdir(c.Dir("stray"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantState(t, c, "main", Stopped)
	if in := wantState(t, c, "stray", Degraded); in.Cause == "" {
		t.Error("no cause")
	}
}

// An instance of more than 64 KiB can be listed, although limactl list --json fails on it.
func TestLongInstance(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	file := filepath.Join(c.Dir("main"), "lima.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(data, []byte("# "+strings.Repeat("x", 70<<10)+"\n")...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.run(t.Context(), time.Minute, nil, "list", "--format=json"); err == nil {
		t.Fatal("the stand-in accepts a line on which Lima fails")
	}
	wantState(t, c, "main", Stopped)
	if err := c.Create(t.Context(), "long", bytes.Repeat([]byte("# x\n"), 20<<10)); err == nil {
		t.Error("a template of 80 KiB was accepted")
	}
}

func TestListNoise(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	inject(t, c, rehearsal.ListNoise)
	wantState(t, c, "main", Stopped)
}

func TestUnreadableYAML(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	if err := os.WriteFile(filepath.Join(c.Dir("main"), "lima.yaml"), []byte("cpus: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	in := wantState(t, c, "main", Degraded)
	if !strings.Contains(in.Cause, "lima.yaml") || !strings.Contains(in.Cause, "unmarshal") {
		t.Errorf("cause %q", in.Cause)
	}
	if err := c.Delete(t.Context(), "main"); err != nil {
		t.Error(err)
	}
}

func TestJudge(t *testing.T) {
	ours := process{pid: 10, alive: true, ours: true}
	foreign := process{pid: 10, alive: true, command: "bash"}
	up, booting, leaving := &BootEvent{Running: true}, &BootEvent{SSHPort: 1}, &BootEvent{Exiting: true}
	sick := &BootEvent{Running: true, Degraded: true, Errors: []string{"boot scripts"}}
	for _, tt := range []struct {
		name     string
		raw      string
		problems string
		facts    facts
		want     State
		cause    string // part of it
	}{
		{"off", "Stopped", "", facts{}, Stopped, ""},
		{"up", "Running", "", facts{agent: ours, driver: ours, last: up}, Running, ""},
		{"up, processes hidden", "Running", "", facts{agent: process{hidden: true}, driver: process{hidden: true}}, Running, ""},
		{"ended after limactl list", "Running", "", facts{}, Stopped, ""},
		{"zombie", "Running", "", facts{agent: process{pid: 10}, driver: process{pid: 11}}, Stopped, ""},
		{"zombie, socket gone", "Broken", "ha.sock", facts{agent: process{pid: 10}, driver: process{pid: 11}}, Stopped, ""},
		{"host agent does not answer, processes hidden", "Broken", "ha.sock", facts{agent: process{pid: 10, hidden: true}}, Degraded, "ha.sock"},
		{"booting, Lima says running", "Running", "", facts{agent: ours, driver: ours, last: booting}, Starting, "booting"},
		{"booting, nothing reported yet", "Running", "", facts{agent: ours, driver: ours}, Starting, "booting"},
		{"booting, Lima says broken: no driver (lima #4407)", "Broken", "driver is not", facts{agent: ours}, Starting, "booting"},
		{"booting, Lima says broken: no socket", "Broken", "ha.sock", facts{agent: ours, driver: ours, last: booting}, Starting, "booting"},
		{"up, with errors at boot", "Running", "", facts{agent: ours, driver: ours, last: sick}, Running, ""},
		{"running, Lima says stopped", "Stopped", "", facts{agent: ours, driver: ours, last: up}, Degraded, "stopped"},
		{"booting, Lima says stopped", "Stopped", "", facts{agent: ours}, Starting, "booting"},
		{"shutting down", "Running", "", facts{agent: ours, driver: ours, last: leaving}, Degraded, "shutting down"},
		{"shutting down, driver gone", "Broken", "", facts{agent: ours, last: leaving}, Degraded, "shutting down"},
		{"powered off inside (lima #1390)", "Broken", "", facts{agent: ours, last: up}, Degraded, "powered off"},
		{"host agent dead (lima #357)", "Broken", "", facts{driver: ours}, Degraded, "host agent"},
		{"host agent does not answer", "Broken", "no answer", facts{agent: ours, driver: ours, last: up}, Degraded, "no answer"},
		{"reused pid of the host agent", "Broken", "ha.sock", facts{agent: foreign}, Stopped, "pid 10"},
		{"reused pid of the driver", "Broken", "", facts{driver: foreign}, Stopped, "bash"},
		{"both pids reused", "Running", "", facts{agent: foreign, driver: foreign}, Stopped, "reboot"},
		{"broken, cause unknown", "Broken", "permission denied", facts{}, Degraded, "permission denied"},
		{"bad yaml", "", "cannot unmarshal", facts{}, Degraded, "cannot unmarshal"},
		{"never started", "Uninitialized", "", facts{}, Stopped, "never"},
		{"installing", "Installing", "", facts{}, Starting, "installing"},
		{"status of a newer Lima", "Paused", "", facts{agent: ours}, Degraded, "Paused"},
	} {
		state, cause := judge(tt.raw, tt.problems, tt.facts)
		if state != tt.want || !strings.Contains(cause, tt.cause) {
			t.Errorf("%s: got %s (%s), want %s (%s)", tt.name, state, cause, tt.want, tt.cause)
		}
		if state == Degraded && cause == "" {
			t.Errorf("%s: degraded without a cause", tt.name)
		}
	}
}

// Errors that Lima reports at boot, such as a guest agent that does not answer, are notes of a running instance: they
// do not make it degraded.
func TestErrorsAtBootAreNotes(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	inject(t, c, rehearsal.Degraded)
	var degraded *DegradedError
	if err := c.Start(t.Context(), "main", time.Minute, nil); !errors.As(err, &degraded) {
		t.Fatalf("start: %v", err)
	}
	in := wantState(t, c, "main", Running)
	if len(in.Notes) == 0 || in.Notes[0] != degraded.Errors[0] {
		t.Errorf("notes %q, errors at boot %q", in.Notes, degraded.Errors)
	}
	if got := c.Peek("main"); got != Running {
		t.Errorf("its files say %s", got)
	}
	if err := c.Start(t.Context(), "main", time.Minute, nil); err != nil {
		t.Errorf("starting a running instance: %v", err)
	}
}

// fake returns a client whose limactl is a shell script.
func fake(t *testing.T, c *Client, script string) *Client {
	t.Helper()
	program := filepath.Join(t.TempDir(), "limactl")
	syscall.ForkLock.RLock() // a child that another test forks now would keep the file open: text file busy
	err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Program: program, Home: c.Home(), Accel: c.config.Accel})
}

// An instance or a disk counts as absent only if Lima does not list it and its directory does not exist. A limactl
// that prints nothing and exits with 0 does not make a running VM absent.
func TestAbsentNeedsListAndDirectory(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	pid := wantState(t, c, "main", Running).PID
	silent := fake(t, c, "exit 0")
	_, err := silent.Instance(t.Context(), "main")
	if err == nil || errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"limactl list", c.Dir("main"), "process"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %q", err, part)
		}
	}
	for name, err := range map[string]error{
		"stop":                          silent.Stop(t.Context(), "main", true, time.Second),
		"delete":                        silent.Delete(t.Context(), "main"),
		"disk":                          errOf(silent.Disk(t.Context(), "main-data")),
		"delete of an unknown instance": silent.Delete(t.Context(), "other"),
		"delete of an unknown disk":     silent.DeleteDisk(t.Context(), "other"),
	} {
		if wanted := !strings.Contains(name, "unknown"); (err != nil) != wanted || errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if in := wantState(t, c, "main", Running); in.PID != pid {
		t.Errorf("pid %d, was %d", in.PID, pid)
	}
	if _, err := silent.Instance(t.Context(), "other"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown instance: %v", err)
	}
	// A running instance is degraded, not stopped, if limactl calls it stopped.
	out, err := c.run(t.Context(), time.Minute, nil, "list", listFormat, "main")
	if err != nil {
		t.Fatal(err)
	}
	liar := fake(t, c, "cat <<'END'\n"+strings.ReplaceAll(string(out.stdout), `"Running"`, `"Stopped"`)+"END")
	if in := wantState(t, liar, "main", Degraded); in.Dead || !strings.Contains(in.Cause, "stopped") {
		t.Errorf("%+v", in)
	}
}

func errOf[T any](_ T, err error) error { return err }

// AgentAnswers returns nil only if the host agent runs and works.
func TestAgentAnswers(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	if err := c.AgentAnswers(t.Context(), "main"); err == nil {
		t.Error("no error, but the host agent does not run")
	}
	if err := c.Start(t.Context(), "main", time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.AgentAnswers(t.Context(), "main"); err != nil {
		t.Error(err)
	}
	inject(t, c, rehearsal.Broken)
	if err := c.AgentAnswers(t.Context(), "main"); err == nil {
		t.Error("no error, but the host agent is broken")
	}
}
