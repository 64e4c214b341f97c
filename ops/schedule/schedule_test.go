package schedule

import (
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// jobs returns a plain job, one with characters that need quoting, and one without further environment variables.
func jobs() map[string]Job {
	return map[string]Job{
		"plain": {Box: "main", Every: 6 * time.Hour, Program: "/usr/local/bin/hermes-box", Config: "/home/me/box/hermes-box.yaml",
			Home: "/home/me/.hermes-box", Env: map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"}},
		"odd": {Box: "a-b", Every: 7 * 24 * time.Hour, Program: `/opt/my "tools"/100%/hermes-box`, Config: `/home/me/a & b/$HOME/it's <new>\x.yaml`,
			Home: "/home/me/h\to", Env: map[string]string{"PATH": "/bin", "HERMES_BOX_LIMACTL": "/opt/%h/limactl"}},
		"daily": {Box: "main", Every: 24 * time.Hour, Program: "/bin/hermes-box", Config: "/c.yaml", Home: "/h"},
	}
}

// The texts of the systemd units and of the launchd agent equal the golden files.
func TestGolden(t *testing.T) {
	for name, j := range jobs() {
		for end, text := range map[string]string{".service": j.service(), ".timer": j.timer(), ".plist": j.agent()} {
			path := filepath.Join("testdata", name+end)
			if *update {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || string(want) != text {
				t.Errorf("%s differs from the new text (-update writes it): %v\n%s", path, err, text)
			}
		}
	}
}

// systemd-analyze accepts the units and the times of the timers, and prints no warning about them.
func TestSystemdAcceptsTheUnits(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("NOT CHECKED:", err)
	}
	for name, j := range jobs() {
		if j.Program, err = filepath.EvalSymlinks("/bin/true"); err != nil { // verify wants a program that exists
			t.Fatal(err)
		}
		dir := t.TempDir()
		m := &Manager{dir: dir}
		var paths []string
		for _, f := range m.files(j) {
			if err := os.WriteFile(f.path, []byte(f.text), 0o644); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, f.path)
		}
		cmd := exec.Command(tool, append([]string{"--user", "verify", "--man=no"}, paths...)...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), name) || strings.Contains(string(out), j.Name()) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		for line := range strings.Lines(j.timer()) {
			if at, ok := strings.CutPrefix(line, "OnCalendar="); ok {
				if out, err := exec.Command(tool, "calendar", strings.TrimSpace(at)).CombinedOutput(); err != nil {
					t.Errorf("%s: %q: %v: %s", name, at, err, out)
				}
			}
		}
	}
}

// The agent is well-formed XML that holds the words of the command.
func TestAgentIsXML(t *testing.T) {
	for name, j := range jobs() {
		d := xml.NewDecoder(strings.NewReader(j.agent()))
		var words []string
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
				words = append(words, string(text))
			}
		}
		for _, want := range append(j.arguments(), j.Program, j.Home, j.label()) {
			found := false
			for _, w := range words {
				found = found || w == want
			}
			if !found {
				t.Errorf("%s: %q is missing in %q", name, want, words)
			}
		}
	}
}

// The hours of a period divide a day evenly, and jobs of other boxes have other names.
func TestJobs(t *testing.T) {
	for name, every := range Periods {
		j := Job{Every: every}
		if n := len(j.hours()); every <= 24*time.Hour && time.Duration(n)*every != 24*time.Hour || every > 24*time.Hour && n != 1 {
			t.Errorf("%s: %v", name, j.hours())
		}
		if PeriodName(every) != name {
			t.Errorf("%s is called %s", name, PeriodName(every))
		}
	}
	a := jobs()["plain"]
	b, c := a, a
	b.Config += "2"
	c.Home += "2"
	if a.Name() == b.Name() || a.Name() == c.Name() || b.Name() == c.Name() || !strings.HasPrefix(a.Name(), "hermes-box-main-") {
		t.Error(a.Name(), b.Name(), c.Name())
	}
	for _, bad := range []Job{{Every: 5 * time.Hour}, {Every: time.Hour, Config: "a\nb"}} {
		if bad.check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// On writes the files and enables the timer, State reports each change, and Off removes all files. If a command fails,
// nothing is left.
func TestTimerOnAndOff(t *testing.T) {
	for name, launchd := range map[string]bool{"systemd": false, "launchd": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var ran []string
			var fails string
			m := &Manager{launchd: launchd, dir: filepath.Join(dir, "units"), uid: 501}
			m.run = func(_ context.Context, argv ...string) error {
				line := strings.Join(argv, " ")
				ran = append(ran, line)
				if fails != "" && strings.Contains(line, fails) {
					return errors.New(line + " failed")
				}
				if strings.Contains(line, " enable ") {
					wants := filepath.Join(m.dir, "timers.target.wants")
					if err := os.MkdirAll(wants, 0o755); err != nil {
						return err
					}
					_ = os.Symlink("x", filepath.Join(wants, argv[len(argv)-1]))
				}
				return nil
			}
			j := jobs()["plain"]
			if m.State(j) != Off {
				t.Error("the timer is on before it was installed")
			}
			if err := m.On(t.Context(), j); err != nil || m.State(j) != On {
				t.Error(err, m.State(j))
			}
			shell := j
			shell.Env, shell.Program = map[string]string{"PATH": "/elsewhere"}, "/other/hermes-box"
			if m.State(shell) != On {
				t.Error("with another PATH the state is", m.State(shell))
			}
			other := j
			other.Every = time.Hour
			if m.State(other) != Outdated {
				t.Error("for another period the state is", m.State(other))
			}
			if err := m.On(t.Context(), other); err != nil || m.State(other) != On {
				t.Error(err, m.State(other))
			}
			if err := errors.Join(m.Off(t.Context(), j), m.Off(t.Context(), j)); err != nil || m.State(j) != Off {
				t.Error(err, m.State(j))
			}
			commands := []string{"daemon-reload", " enable ", " restart "}
			if launchd {
				commands = []string{" bootstrap "}
			}
			for _, fails = range commands {
				if !strings.Contains(strings.Join(ran, "\n"), fails) {
					t.Errorf("%q was not run: %q", fails, ran)
				}
				if err := m.On(t.Context(), j); err == nil || m.State(j) != Off {
					t.Errorf("%s fails: %v, %s", fails, err, m.State(j))
				}
				err := filepath.WalkDir(m.dir, func(path string, d os.DirEntry, err error) error {
					if err == nil && !d.IsDir() {
						t.Errorf("%s fails: %s is left", fails, path)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}
