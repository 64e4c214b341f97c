package main

import (
	"os/exec"
	"strings"
	"testing"
)

// allowed is which of our packages each part may import: main -> cli, tui -> ops -> limactl; ops and guest share
// only the protocol; guest imports nothing of the host.
var allowed = []struct{ part, may string }{
	{"hermes-box", "cli"},
	{"hermes-box/cli", "cli/demo ops limactl assets guest/protocol tui"},
	{"hermes-box/cli/demo", "internal/rehearsal limactl guest ops/lock ops/config ops/fault"},
	{"hermes-box/tui", "tui ops limactl guest/protocol"},
	{"hermes-box/ops", "ops limactl guest/protocol"},
	{"hermes-box/limactl", "limactl"},
	{"hermes-box/guest", "guest assets/guestfiles"},
	{"hermes-box/internal/rehearsal", "internal guest limactl ops/lock ops/config ops/fault"},
	{"hermes-box/assets", "assets"},
	{"hermes-box/e2e", "e2e ops limactl guest/protocol"},
	{"hermes-box/screenshots", "tui/ttytest ops/lock"},
}

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
			t.Errorf("%s has no place in the layout", fields[0])
			continue
		}
		for _, imported := range fields[1:] {
			if imported, ours := strings.CutPrefix(imported, "hermes-box/"); ours && !within(imported, may) {
				t.Errorf("%s imports %s; it may import: %s", fields[0], imported, may)
			}
		}
	}
}

// rule finds the longest part that holds a package.
func rule(pkg string) (may string, known bool) {
	best := ""
	for _, a := range allowed {
		if (pkg == a.part || strings.HasPrefix(pkg, a.part+"/")) && len(a.part) > len(best) {
			best, may, known = a.part, a.may, true
		}
	}
	if best == "hermes-box" && pkg != best {
		return "", false
	}
	return may, known
}

func within(pkg, may string) bool {
	for _, m := range strings.Fields(may) {
		if pkg == m || strings.HasPrefix(pkg, m+"/") {
			return true
		}
	}
	return false
}
