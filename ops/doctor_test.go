package ops

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops/config"
)

// guestOf returns the status of a guest with these states of components. All other components are healthy.
func guestOf(t *testing.T, states map[string]string) *protocol.Status {
	t.Helper()
	s := applied(fixture(t))
	for i, c := range s.Components {
		if state, ok := states[c.Name]; ok {
			s.Components[i].State, s.Components[i].Detail = state, "because"
		}
	}
	return s
}

func TestJudge(t *testing.T) {
	starting := &Underway{Operation: "start", Running: true}
	for _, c := range []struct {
		name   string
		states map[string]string
		u      *Underway
		want   limactl.State
	}{
		{"all well", nil, nil, limactl.Running},
		{"not set up", map[string]string{"hermes": protocol.SetupRequired}, nil, limactl.Running},
		{"coming up", map[string]string{"executor": protocol.Starting}, nil, limactl.Starting},
		{"one coming up, one failed", map[string]string{"executor": protocol.Starting, "hermes": protocol.FailedState}, nil, limactl.Degraded},
		{"stopped", map[string]string{"executor": protocol.Stopped}, nil, limactl.Degraded},
		{"stopped, start is under way", map[string]string{"executor": protocol.Stopped}, starting, limactl.Starting},
		{"stopped, start was cut off", map[string]string{"executor": protocol.Stopped}, &Underway{Operation: "start"}, limactl.Degraded},
	} {
		if got := judge(guestOf(t, c.states), c.u); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	bad := guestOf(t, nil)
	bad.DataProblem = "the wrong disk"
	if got := judge(bad, nil); got != limactl.Degraded {
		t.Errorf("wrong disk: %s", got)
	}
	bad = guestOf(t, nil)
	bad.LockProblem = "unreadable"
	if got := judge(bad, nil); got != limactl.Degraded {
		t.Errorf("unreadable lock: %s", got)
	}
	if got := (&insideChecks{status: bad}).checkComponents(t.Context()); got.Verdict != Fail || got.Repair == "" {
		t.Errorf("unreadable lock: %+v", got)
	}
}

func TestDoctorDoesNotFailAStartingService(t *testing.T) {
	// Nothing listens on the ports of this box.
	b := &Box{Config: &config.Config{Ports: config.Ports{Executor: 1, Dashboard: 2}}}
	for _, c := range []struct {
		state               string
		components, forward Verdict
	}{
		{protocol.Starting, Warn, Warn},
		{protocol.FailedState, Fail, Fail},
		{protocol.Healthy, Pass, Fail},
	} {
		in := &insideChecks{Box: b, status: guestOf(t, map[string]string{"executor": c.state})}
		if got := in.checkComponents(t.Context()); got.Verdict != c.components || got.Verdict != Pass && got.Repair == "" {
			t.Errorf("executor is %s: components %+v", c.state, got)
		}
		if got := in.checkForward(t.Context(), "executor"); got.Verdict != c.forward {
			t.Errorf("executor is %s: forward %+v", c.state, got)
		}
	}
}

// The repair of a failed tool is a valid command: only services have a log of their own.
func TestRepairNamesAnExistingLog(t *testing.T) {
	s := guestOf(t, map[string]string{"node": protocol.FailedState})
	s.Components[0].Service = ""
	in := &insideChecks{Box: &Box{}, status: s}
	c := in.checkComponents(t.Context())
	source, ok := strings.CutPrefix(c.Repair, "hermes-box logs ")
	if !ok || !slices.Contains(LogSources, source) {
		t.Errorf("%+v", c)
	}
}

// A program that listens on a port of the box, but at another address of this machine, does not count as the box.
func TestProgramAtAnotherAddressIsNotTheBox(t *testing.T) {
	var l net.Listener
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast() && l == nil {
			l, _ = net.Listen("tcp", net.JoinHostPort(ip.IP.String(), "0"))
		}
	}
	if l == nil {
		t.Skip("this machine has no address but loopback")
	}
	defer l.Close()
	host := &Host{Lima: limactl.New(limactl.Config{Home: t.TempDir()})}
	b := &Box{Host: host, Config: &config.Config{Name: "main", Path: "hermes-box.yaml", Ports: config.Ports{Executor: l.Addr().(*net.TCPAddr).Port, Dashboard: 1}}}
	c := (&insideChecks{Box: b}).checkLoopback(t.Context())
	if want := fmt.Sprintf("%s is held by pid %d (", l.Addr(), os.Getpid()); c.Verdict != Warn || !strings.HasPrefix(c.Evidence, want) || !strings.Contains(c.Evidence, "which is not the box") {
		t.Errorf("%+v, want %s", c, want)
	}
}
