package main

import (
	"os/exec"
	"strings"
	"testing"
)

// allowed lists the packages of this module that each part may import besides itself and the leaves: main -> cli ->
// tui -> ops -> limactl. ops and guest share only the protocol; guest imports no package of the host.
var allowed = []struct{ part, may string }{
	{"hermes-box", "cli internal/rehearsal/demo"},
	{"hermes-box/cli", "tui ops limactl assets guest/protocol internal/runas internal/rehearsal/demo"},
	{"hermes-box/tui", "ops limactl guest/protocol"},
	{"hermes-box/ops", "limactl guest/protocol"},
	{"hermes-box/limactl", ""},
	{"hermes-box/limactl/ssh", "limactl/child guest/protocol"},
	{"hermes-box/limactl/child", ""},
	{"hermes-box/guest", "assets/guestfiles"}, // the engine, on top of the parts below
	{"hermes-box/guest/protocol", ""},
	{"hermes-box/guest/layout", "guest/protocol"},
	{"hermes-box/guest/machine", "guest/protocol"},
	{"hermes-box/guest/durable", "guest/protocol"},
	{"hermes-box/guest/object", "guest/durable guest/layout guest/protocol"},
	{"hermes-box/guest/component", "guest/object guest/durable guest/layout guest/machine guest/protocol"},
	{"hermes-box/guest/bootstrap", "guest/component guest/object guest/durable guest/layout guest/machine guest/protocol assets/guestfiles"},
	{"hermes-box/guest/login", "guest/component guest/durable guest/layout guest/machine guest/protocol"},
	{"hermes-box/assets", ""},
	{"hermes-box/internal/age", ""},
	{"hermes-box/internal/sanitize", ""},
	{"hermes-box/internal/terminal", ""},
	{"hermes-box/internal/spell", ""},
	{"hermes-box/internal/runas", ""},
	{"hermes-box/internal/race", ""},
	{"hermes-box/internal/keyringtest", ""},
	{"hermes-box/internal/ttytest", ""},
	{"hermes-box/internal/rehearsal", "limactl guest ops/lock ops/config ops/fault"},
	{"hermes-box/e2e", "ops limactl guest/protocol"},
	{"hermes-box/screenshots", "internal/ttytest ops/lock"},
}

// leaves are the packages that every part may import.
var leaves = []string{"internal/age", "internal/sanitize", "internal/spell", "internal/terminal"}

func TestArrowsPointOneWay(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 5 {
		t.Fatalf("go list names only %d packages", len(lines))
	}
	for _, line := range lines {
		fields := strings.Fields(line)
		may, known := rule(fields[0])
		if !known {
			t.Errorf("%s is in none of the parts in allowed", fields[0])
			continue
		}
		for _, imported := range fields[1:] {
			if imported, ours := strings.CutPrefix(imported, "hermes-box/"); ours && !within(imported, append(may, leaves...)) {
				t.Errorf("%s imports %s; it may import: %s", fields[0], imported, strings.Join(may, " "))
			}
		}
	}
}

// rule returns the packages that a package may import: its own part, and those allowed for the longest part that
// contains it. known is false if no part contains it. The part hermes-box is only package main.
func rule(pkg string) (may []string, known bool) {
	best := ""
	for _, a := range allowed {
		if (pkg == a.part || strings.HasPrefix(pkg, a.part+"/")) && len(a.part) > len(best) {
			best, may, known = a.part, strings.Fields(a.may), true
		}
	}
	if best == "hermes-box" {
		return may, pkg == best
	}
	return append(may, strings.TrimPrefix(best, "hermes-box/")), known
}

// within reports whether a package is one of may or lies below one.
func within(pkg string, may []string) bool {
	for _, m := range may {
		if pkg == m || strings.HasPrefix(pkg, m+"/") {
			return true
		}
	}
	return false
}
