package ops

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/internal/spell"
	"hermes-box/limactl"
	"hermes-box/ops/fault"
)

// insideChecks are the checks inside a running box. They share one status.
type insideChecks struct {
	off bool // no process of the VM runs
	*Box
	status       *protocol.Status
	begun, ended time.Time // of the round trip that returned status
}

func (in *insideChecks) probes() []probe {
	return []probe{
		{"answer", "the box answers", in.checkAnswer},
		{"clock", "clock of the box", in.checkClock},
		{"data", "data disk", in.checkData},
		{"room", "room on the disks", in.checkRoom},
		{"memory", "memory of the box", in.checkMemory},
		{"components", "components", in.checkComponents},
		{"versions", "versions", in.checkVersions},
		{"mcp", "MCP servers of the agents", in.checkSettings},
		{"dns", "name resolution", in.checkDNS},
		{"agent-forwarding", "no agent forwarding", in.checkNoAgent},
		{"mounts", "no host mounts", in.checkNoMounts},
		{"forward", "executor on this machine", func(ctx context.Context) Check { return in.checkForward(ctx, "executor") }},
		{"forward-dashboard", "dashboard on this machine", func(ctx context.Context) Check { return in.checkForward(ctx, "dashboard") }},
		{"loopback", "loopback only", in.checkLoopback},
	}
}

func (in *insideChecks) checkVM(ctx context.Context) Check {
	vm, err := in.instance(ctx)
	if err != nil {
		return unknown(err, in.Lima.CommandLine("list"))
	}
	in.off = off(vm)
	switch {
	case gone(vm):
		lost := in.vmGone()
		return fail(lost.Error(), fault.HintOf(lost))
	case vm.State == limactl.Running:
		return pass("running")
	case vm.State == limactl.Stopped:
		return warn("stopped", "hermes-box start")
	case vm.State == limactl.Starting:
		return warn("starting: "+vm.Cause, "wait a minute; to check again: hermes-box doctor")
	}
	return fail(string(vm.State)+": "+vm.Cause, restartHint)
}

func (in *insideChecks) checkAnswer(ctx context.Context) Check {
	in.begun = time.Now()
	s, err := in.guestStatus(ctx)
	if err != nil {
		return fail(err.Error(), forceHint)
	}
	in.status, in.ended = s, time.Now()
	return pass(fmt.Sprintf("%s on %s, in %d ms", s.OS, s.Arch, in.ended.Sub(in.begun).Milliseconds()))
}

var errNotAnswering = fault.New(fault.HealthFailed, "the box does not answer")

func (in *insideChecks) checkClock(context.Context) Check {
	if in.status == nil {
		return unknown(errNotAnswering, "")
	}
	skew, err := clockSkew(in.status.Now, in.begun, in.ended)
	if err != nil {
		return unknown(err, "")
	}
	if text := SkewText(skew); text != "" {
		return fail(text+" this machine's", ClockRepair)
	}
	return pass("agrees with this machine's")
}

func (in *insideChecks) checkData(context.Context) Check {
	switch {
	case in.status == nil:
		return unknown(errNotAnswering, "")
	case in.status.DataProblem != "":
		return fail(in.status.DataProblem, "hermes-box logs recovery")
	case in.status.DataUUID != in.Record.DataUUID:
		return fail(fmt.Sprintf("filesystem %s is mounted, this box has %s", in.status.DataUUID, in.Record.DataUUID),
			"do not use it: the wrong disk is attached")
	}
	return pass("filesystem " + in.status.DataUUID)
}

func (in *insideChecks) checkRoom(context.Context) Check {
	if in.status == nil {
		return unknown(errNotAnswering, "")
	}
	c := pass(fmt.Sprintf("root %s of %s, data %s of %s", size(in.status.Root.Used), size(in.status.Root.Total),
		size(in.status.Data.Used), size(in.status.Data.Total)))
	for _, u := range []protocol.Usage{in.status.Root, in.status.Data} {
		if u.Total > 0 && u.Used*10 > u.Total*9 {
			c.Verdict, c.Repair = Warn, "hermes-box exec -- sudo du -xh --max-depth=2 /data /var"
		}
	}
	return c
}

func (in *insideChecks) checkComponents(context.Context) Check {
	if in.status == nil {
		return unknown(errNotAnswering, "")
	}
	if problem := in.status.LockProblem; problem != "" {
		return fail(problem, "hermes-box exec -- sudo ls -l "+protocol.StateDir)
	}
	var starting []string
	for _, c := range in.status.Components {
		switch c.State {
		case protocol.Healthy, protocol.SetupRequired:
		case protocol.Starting:
			starting = append(starting, fmt.Sprintf("%s: starting, %s", c.Name, c.Detail))
		default:
			return fail(fmt.Sprintf("%s: %s, %s", c.Name, c.State, c.Detail), logOf(c))
		}
	}
	if len(starting) > 0 {
		return warn(strings.Join(starting, "; "), "wait a minute; to check again: hermes-box doctor")
	}
	return pass(spell.Count(len(in.status.Components), "component") + " up")
}

// logOf returns the command that shows why a component is in its state. Only services have a log of their own.
func logOf(c protocol.ComponentStatus) string {
	if c.Service == "" {
		return "hermes-box logs operations"
	}
	return "hermes-box logs " + c.Name
}

// checkVersions makes the box run each component and compare its version with the applied one. A component whose files
// were changed or removed since it was installed may fail this.
func (in *insideChecks) checkVersions(ctx context.Context) Check {
	var v protocol.Versions
	if err := in.ask(ctx, protocol.VerbVersions, nil, &v, nil); err != nil {
		return unknown(err, "hermes-box doctor")
	}
	for _, c := range v.Components {
		if c.Problem != "" {
			return fail(fmt.Sprintf("%s %s: %s", c.Name, c.Applied, c.Problem), "hermes-box exec -- ls -lL /opt/hermes-box/current/"+c.Name)
		}
	}
	return pass("as applied: " + spell.Count(len(v.Components), "component"))
}
