package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inhabited is a running box of the demo, whose programs ask and answer as the real ones do.
type inhabited struct {
	*machine
	token  string // Executor's
	portal string
}

func newInhabited(t *testing.T) *inhabited {
	t.Helper()
	m := &inhabited{machine: newMachine(t)}
	m.makeBox()
	_, m.token, _ = strings.Cut(strings.TrimSpace(m.must("exec", "--", "sudo", "cat", "/data/secrets/executor-token.env")), "=")
	m.portal = strings.TrimSpace(m.must("open", "executor", "--print"))
	// A browser that notes what it is given.
	browser := filepath.Join(m.bin, "xdg-open")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >"+m.dir+"/opened\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}

// connect is what a person does in Executor's portal.
func (m *inhabited) connect() {
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

// hermesFile is a file of Hermes's; empty if there is none.
func (m *inhabited) hermesFile(name string) string {
	m.t.Helper()
	return m.must("exec", "--", "sh", "-c", fmt.Sprintf("cat ~/.hermes/%s 2>/dev/null || :", name))
}
