package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Every test that the README's table of promises names exists.
func TestPromisesNameTests(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(readme), "\n## Promises\n")
	table, _, _ = strings.Cut(table, "\n## ")
	out, err := exec.Command("git", "grep", "--untracked", "-hoE", `^func Test[A-Za-z0-9]+|^[[:space:]]\{"[a-z-]+", "`, "--", "*_test.go").Output()
	if err != nil {
		t.Skipf("NOT CHECKED: this is not a git checkout: %v", err)
	}
	have := string(out)
	names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`|\\*([a-z-]+)\\*").FindAllStringSubmatch(table, -1)
	if len(names) < 30 {
		t.Errorf("the table names only %d tests", len(names))
	}
	for _, n := range names {
		if n[1] != "" && !strings.Contains(have, "func "+n[1]+"\n") || n[2] != "" && !strings.Contains(have, `{"`+n[2]+`", "`) {
			t.Errorf("there is no test %s", n[0])
		}
	}
}
