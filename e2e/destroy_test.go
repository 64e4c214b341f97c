//go:build e2e

package e2e

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
)

//go:embed inbox/appender.py
var appenderProgram string

const appended = "/data/home/agent/workspace/numbers"

// destroy destroys the box while a program in it writes. What the program has synced is in the last backup.
func destroy(t *testing.T, l *lab) {
	numbers := filepath.Join(l.root, "numbers")
	out, err := os.Create(numbers)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	writer := l.cmd(t, l.root, "exec", "--", "python3", "-c", appenderProgram, appended)
	writer.Stdout = out // a file, so that Wait waits only for the program
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = writer.Wait() }() // it fails, since its VM is killed
	defer func() { _ = writer.Process.Kill(); <-ended }()
	for deadline := time.Now().Add(2 * time.Minute); len(completeLines(t, numbers)) == 0; time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			t.Fatal("the program does not write")
		}
	}
	before := len(completeLines(t, numbers))

	var gone ops.Destroyed
	if l.json(t, &gone, "destroy"); gone.Backup == nil || gone.Backup.Label != "before-destroy" || !gone.Backup.Good() {
		t.Errorf("destroy made no backup: %+v", gone)
	}
	vms, disks := l.lima(t, "list", "-q").stdout, l.lima(t, "disk", "list").stdout
	if strings.TrimSpace(vms) != "stranger" {
		t.Errorf("VMs after destroy: %q", vms)
	}
	if !strings.Contains(disks, "stranger") || strings.Contains(disks, "e2e-data") {
		t.Errorf("disks after destroy:\n%s", disks)
	}
	var st ops.Status
	if l.json(t, &st, "status"); st.State != "absent" {
		t.Errorf("after destroy the box is %s", st.State)
	}

	want := completeLines(t, numbers)
	if len(want) <= before {
		t.Errorf("the program did not write during destroy: %d lines before, %d after", before, len(want))
	}
	got := filepath.Join(l.root, "got")
	if err := os.RemoveAll(got); err != nil {
		t.Fatal(err)
	}
	l.mkdir(t, got)
	l.must(t, "backup", "get", "latest", appended, "--to", got)
	have := completeLines(t, filepath.Join(got, filepath.Base(appended)))
	t.Logf("%d lines were acknowledged, the backup has %d", len(want), len(have))
	if len(have) < len(want) {
		t.Fatalf("the backup has %d lines, %d were acknowledged", len(have), len(want))
	}
	for i, line := range want {
		if have[i] != line {
			t.Fatalf("line %d of the backup is %q, not %q", i+1, have[i], line)
		}
	}
}

// completeLines returns the complete lines of a file.
func completeLines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	return lines[:len(lines)-1]
}
