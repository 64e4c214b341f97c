package serve

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hermes-box/guest"
	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/frame"
)

// The service answers several connections at once. It runs no commands and no verb that needs root, even as root, and
// only its user may connect.
func TestService(t *testing.T) {
	dir, err := os.MkdirTemp("", "hb") // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "sock")
	if err := os.WriteFile(socket, nil, 0o600); err != nil { // left by a service that was killed
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Helper{Root: true, Open: func(string) *guest.Guest { return blank(t) }}.Serve(ctx, socket, os.Stderr)
	}()
	connect := func() *host {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			conn, err := net.Dial("unix", socket)
			if err == nil {
				opening := make([]byte, len(frame.Opening("", protocol.Version)))
				if _, err := conn.Read(opening); err != nil || string(opening) != frame.Opening("", protocol.Version) {
					t.Fatalf("opening %q, %v", opening, err)
				}
				return &host{t: t, w: frame.NewWriter(conn), r: frame.NewReader(conn), hangUp: func() { conn.Close() }}
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	idle := connect()
	for _, verb := range protocol.Unprivileged {
		h := connect()
		h.ask(verb, protocol.SessionRequest{Term: "xterm"})
		if kind, payload, _, _ := h.end(); kind != frame.Result {
			t.Errorf("%s: %q %s", verb, byte(kind), payload)
		}
		h.hangUp()
	}
	for _, verb := range []string{protocol.VerbExec, protocol.VerbVersions, protocol.VerbBootstrap} {
		h := connect()
		h.ask(verb, nil)
		if kind, payload, _, _ := h.end(); kind != frame.Failure {
			t.Errorf("%s: %q %s", verb, byte(kind), payload)
		}
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, _, err := idle.r.Next(); err == nil {
		t.Error("a connection outlives the service")
	}
}
