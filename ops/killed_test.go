package ops

import (
	"testing"
	"time"

	"hermes-box/guest/protocol"
)

// OutOfMemory and doctor say that memory ran out. They name the last process that was killed, if its name is known.
func TestOutOfMemory(t *testing.T) {
	at := time.Date(2026, 3, 1, 14, 5, 0, 0, time.Local)
	python := []protocol.Killed{{At: at.UTC().Format(time.RFC3339), PID: 12, Process: "node"}, {At: at.UTC().Format(time.RFC3339), PID: 1234, Process: "python3"}}
	for want, g := range map[string]*protocol.Status{
		"": {},
		"memory ran out on 1 Mar 14:05: the kernel killed python3 (pid 1234); 2 processes since the boot": {OOMKills: 2, Killed: python},
		"memory ran out on 1 Mar 14:05: the kernel killed node (pid 12)":                                  {OOMKills: 1, Killed: python[:1]},
		"memory ran out: the kernel killed a process; 3 processes since the boot":                         {OOMKills: 3},
	} {
		if got := OutOfMemory(g); got != want {
			t.Errorf("%+v: %q, want %q", g, got, want)
		}
		c := (&insideChecks{status: g}).checkMemory(t.Context())
		if verdict := map[bool]Verdict{true: Pass, false: Warn}[want == ""]; c.Verdict != verdict || want != "" && c.Evidence != want {
			t.Errorf("doctor: %+v", c)
		}
	}
}
