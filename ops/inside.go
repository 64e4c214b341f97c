package ops

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
)

// insideChecks look into a running box; one status serves them all.
type insideChecks struct {
	*Box
	status       *protocol.Status
	begun, ended time.Time // of the round trip that brought it
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
	switch vm.State {
	case limactl.Running:
		return pass("running")
	case limactl.Stopped:
		return warn("stopped", "hermes-box start")
	case limactl.Starting:
		return warn("starting: "+vm.Cause, "wait a minute, then hermes-box doctor")
	case limactl.Absent:
		return fail("the VM is gone", in.keepData())
	}
	if vm.Left {
		return fail("the VM is gone: "+vm.Cause, in.keepData())
	}
	return fail(string(vm.State)+": "+vm.Cause, "hermes-box stop --force, then hermes-box start")
}

// keepData is the advice where there is no VM: nothing brings it back, and the data is still there.
func (in *insideChecks) keepData() string {
	return "the data is on disk " + in.Record.Disk + ": do not destroy the box if you need it"
}

func (in *insideChecks) checkAnswer(ctx context.Context) Check {
	in.begun = time.Now()
	s, err := in.guestStatus(ctx)
	if err != nil {
		return fail(err.Error(), "hermes-box stop --force, then hermes-box start")
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
	return pass("as this machine's")
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
	var rising []string
	for _, c := range in.status.Components {
		switch c.State {
		case protocol.Healthy, protocol.SetupRequired:
		case protocol.Starting:
			rising = append(rising, fmt.Sprintf("%s: starting, %s", c.Name, c.Detail))
		default:
			return fail(fmt.Sprintf("%s: %s, %s", c.Name, c.State, c.Detail), logOf(c))
		}
	}
	if len(rising) > 0 {
		return warn(strings.Join(rising, "; "), "wait a minute, then hermes-box doctor")
	}
	return pass(fmt.Sprintf("%d are up", len(in.status.Components)))
}

// logOf is where to look for the reason of a component's state: what has no service has no log.
func logOf(c protocol.ComponentStatus) string {
	if c.Service == "" {
		return "hermes-box logs operations"
	}
	return "hermes-box logs " + c.Name
}

// checkVersions has each release say what it is: a file that was changed or lost after its activation shows here.
func (in *insideChecks) checkVersions(ctx context.Context) Check {
	var v protocol.Versions
	if err := in.ask(ctx, protocol.VerbVersions, nil, &v, nil); err != nil {
		return unknown(err, "hermes-box doctor, once more")
	}
	for _, c := range v.Components {
		if c.Problem != "" {
			return fail(fmt.Sprintf("%s %s: %s", c.Name, c.Applied, c.Problem), "hermes-box exec -- ls -lL /opt/hermes-box/current/"+c.Name)
		}
	}
	return pass(fmt.Sprintf("%d answer as applied", len(v.Components)))
}

// checkDNS resolves a name on both sides: a VPN breaks one without the other. A host without internet is no
// fault of the box.
func (in *insideChecks) checkDNS(ctx context.Context) Check {
	const name = "example.com"
	_, hostErr := net.DefaultResolver.LookupHost(ctx, name)
	guestErr := in.Lima.Exec(ctx, in.Record.Instance, ssh.Exec{Args: []string{"getent", "hosts", name}})
	switch {
	case hostErr == nil && guestErr != nil:
		return fail(name+" resolves here but not in the box", "hermes-box stop, then hermes-box start")
	case hostErr != nil:
		return warn("this machine cannot resolve "+name, "connect this machine to the internet")
	}
	return pass(name + " resolves here and in the box")
}

func (in *insideChecks) checkNoAgent(ctx context.Context) Check {
	var out tail
	err := in.Lima.Exec(ctx, in.Record.Instance, ssh.Exec{Args: []string{"printenv", "SSH_AUTH_SOCK"}, Stdout: &out})
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return fail("an ssh agent reaches into the box: "+out.String(), "remove ForwardAgent for it from your ssh configuration")
	case errors.As(err, &exit) && exit.Status == 1:
		return pass("no agent in the box")
	}
	return unknown(err, "hermes-box exec -- printenv SSH_AUTH_SOCK")
}

func (in *insideChecks) checkNoMounts(ctx context.Context) Check {
	var out tail
	err := in.Lima.Exec(ctx, in.Record.Instance, ssh.Exec{
		Args: []string{"findmnt", "-rno", "TARGET", "-t", "virtiofs,9p,fuse.sshfs,nfs,nfs4,cifs"}, Stdout: &out,
	})
	if out.String() != "" {
		return fail("the box sees directories of this machine: "+out.String(), "take the mounts out of lima.yaml in "+in.Home.Lima())
	}
	var exit *ssh.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.Status != 1) {
		return unknown(err, "hermes-box exec -- findmnt")
	}
	return pass("none")
}

// checkForward asks a port of the box on this machine.
func (in *insideChecks) checkForward(ctx context.Context, service string) Check {
	port, err := in.portOf(ctx, service, func() *protocol.Status { return in.status })
	switch {
	case err == nil:
		return pass(fmt.Sprintf("port %d answers", port.Port))
	case port.State == PortNotListening && in.state(service) == protocol.Starting:
		return warn(fmt.Sprintf("port %d does not answer yet: %s is starting", port.Port, service), "wait a minute, then hermes-box doctor")
	case port.State == PortUnknown:
		return unknown(err, fault.HintOf(err))
	}
	return failed(err)
}

// state is that of a component as the box told it; empty if it has not.
func (in *insideChecks) state(component string) string {
	if in.status != nil {
		for _, c := range in.status.Components {
			if c.Name == component {
				return c.State
			}
		}
	}
	return ""
}

// checkLoopback tries the ports on each address of this machine that is not loopback. What answers there may be another
// program, which listens on other addresses than the box.
func (in *insideChecks) checkLoopback(ctx context.Context) Check {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return unknown(err, "")
	}
	tried := 0
	var others []string
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.IsLoopback() || ip.IP.IsLinkLocalUnicast() {
			continue
		}
		for _, port := range []int{in.Ports().Executor, in.Ports().Dashboard} {
			target := net.JoinHostPort(ip.IP.String(), fmt.Sprint(port))
			d := net.Dialer{Timeout: 2 * time.Second}
			tried++
			conn, err := d.DialContext(ctx, "tcp", target)
			if err != nil {
				continue
			}
			conn.Close()
			addr, _ := netip.AddrFromSlice(ip.IP)
			holder := limactl.Answering(limactl.Listeners(port), addr.Unmap())
			if holder == nil || !in.foreign(*holder) {
				return fail(target+" answers: others can reach the box", "hermes-box stop")
			}
			others = append(others, fmt.Sprintf("%s is held by %s, which is not the box", target, holder))
		}
	}
	switch {
	case len(others) > 0:
		return warn(strings.Join(others, "; "), "nothing, or set another port in "+in.Config.Path)
	case tried == 0:
		return pass("this machine has no other address")
	}
	return pass(fmt.Sprintf("%d other addresses and ports refuse", tried))
}
