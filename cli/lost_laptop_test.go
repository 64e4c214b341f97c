package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The commands of the README's section "A lost laptop" export a box and bring it back on another machine, which has
// nothing of the box but the exported backup and the exported key. Commands that install programs are only parsed.
func TestLostLaptop(t *testing.T) {
	t.Parallel()
	onLinux(t)
	before, install, after := lostLaptop(t)
	for _, line := range install {
		if out, err := exec.Command("sh", "-n", "-c", line).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", line, err, out)
		}
	}
	stick := t.TempDir()
	shell := func(m *machine, lines []string) string {
		t.Helper()
		c := m.cmd("", "status")
		c.Path, c.Args = "/bin/sh", []string{"sh", "-exc", strings.Join(lines, "\n")}
		c.Env = append(c.Env, "HOME="+m.dir)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	put := func(lines []string, executor, dashboard string) (out []string) {
		for _, line := range lines {
			line = regexp.MustCompile(`^STICK=\S+`).ReplaceAllString(line, "STICK="+stick)
			line = strings.Replace(line, `name: main\n`, `name: main\nports: {executor: `+executor+`, dashboard: `+dashboard+`}\n`, 1)
			out = append(out, line)
		}
		return out
	}
	laptop := newMachine(t)
	laptop.makeBox()
	laptop.must("exec", "--", "sh", "-c", "echo precious >/data/home/agent/workspace/thesis")
	laptop.must("backup", "--quiet")
	shell(laptop, put(before, "", ""))

	m := newMachine(t)
	m.withoutSoftware()
	for _, name := range []string{"hermes-box.yaml", "hermes-box.lock"} {
		if err := os.Remove(filepath.Join(m.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	executor, dashboard := freePorts(t)
	if out := shell(m, put(after, fmt.Sprint(executor), fmt.Sprint(dashboard))); !strings.Contains(out, "\nthesis\n") {
		t.Errorf("the file is not there:\n%s", out)
	}
	for _, name := range []string{"main.hermes-box", "main.age-identity", "main-new.hermes-box", "main-new.age-identity"} {
		if info, err := os.Stat(filepath.Join(stick, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	for _, path := range []string{"box/hermes-box.lock", "home/boxes/main.json"} {
		if _, err := os.Stat(filepath.Join(m.dir, path)); err != nil {
			t.Error(err)
		}
	}
}

// lostLaptop returns the commands of the README's sections "A lost laptop" and "Lima": those on the laptop, those that
// install programs, and those on the new machine.
func lostLaptop(t *testing.T) (before, install, after []string) {
	t.Helper()
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n## A lost laptop\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, lima, _ := strings.Cut(string(data), "\n## Lima\n")
	lima, _, _ = strings.Cut(lima, "\n## ")
	into := &before
	for line := range strings.Lines(section + lima) {
		line, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "    ")
		switch {
		case !ok:
		case regexp.MustCompile(`^(sudo|make|curl|sha256sum|echo) `).MatchString(line):
			install, into = append(install, line), &after
		default:
			*into = append(*into, line)
		}
	}
	if len(before) < 3 || len(install) < 9 || len(after) < 8 {
		t.Fatalf("the commands of the README: %q %q %q", before, install, after)
	}
	return before, install, after
}
