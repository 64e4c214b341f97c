package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// demoBox is a machine with a running box of the demo. Its programs prompt and print as the real ones do.
type demoBox struct {
	*machine
	token  string // Executor's
	portal string
}

func newDemoBox(t *testing.T) *demoBox {
	t.Helper()
	m := &demoBox{machine: newMachine(t)}
	m.makeBox()
	_, m.token, _ = strings.Cut(strings.TrimSpace(m.must("exec", "--", "sudo", "cat", "/data/secrets/executor-token.env")), "=")
	m.portal = strings.TrimSpace(m.must("open", "executor", "--print"))
	// A browser that writes the address to a file.
	browser := filepath.Join(m.bin, "xdg-open")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >"+m.dir+"/opened\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}

// connect connects a service in Executor's portal, as a person does.
func (m *demoBox) connect() {
	m.t.Helper()
	answer, err := http.Get(m.portal + "connect")
	if err != nil {
		m.t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		m.t.Fatal(answer.Status)
	}
}

// hermesFile returns the content of a file in ~/.hermes; "" if there is none.
func (m *demoBox) hermesFile(name string) string {
	m.t.Helper()
	return m.must("exec", "--", "sh", "-c", fmt.Sprintf("cat ~/.hermes/%s 2>/dev/null || :", name))
}
