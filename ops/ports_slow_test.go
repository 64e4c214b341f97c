package ops

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops/config"
	"hermes-box/ops/store"
)

// A port that answers slowly is not reported as dead before the limit. The limit grows with the time that the guest
// took to return its status.
func TestSlowPortIsNotDead(t *testing.T) {
	release := make(chan struct{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })}
	go server.Serve(listener)
	defer server.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	// Lima.Owns returns true for this test's listener, because this program is in the directory that is used as the
	// directory of the VM.
	dir := filepath.Dir(os.Args[0])
	b := &Box{Config: &config.Config{Ports: config.Ports{Executor: port, Dashboard: port}},
		Host:   &Host{Lima: limactl.New(limactl.Config{Home: filepath.Dir(dir)})},
		Record: &store.Record{Instance: filepath.Base(dir)}}
	up := &protocol.Status{Components: []protocol.ComponentStatus{{Name: "executor", State: protocol.Healthy}}}

	dead := b.askPorts(t.Context())(50 * time.Millisecond)
	if got := b.judgePorts(t.Context(), dead[:1], up, false)[0].State; got != PortNotForwarded {
		t.Errorf("after the limit the port is %s", got)
	}
	wait := b.askPorts(t.Context())
	close(release)
	if got := b.judgePorts(t.Context(), wait(time.Minute)[:1], up, false)[0].State; got != PortOK {
		t.Errorf("within the limit the port is %s", got)
	}
	for took, want := range map[time.Duration]time.Duration{0: portBound, time.Second / 2: portBound, 5 * time.Second: 15 * time.Second} {
		if got := portLimit(took); got != want {
			t.Errorf("portLimit(%v) = %v, want %v", took, got, want)
		}
	}
}
