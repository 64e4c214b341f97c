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

// checkDNS resolves a name on this machine and in the box: a VPN can break one of them. A host without internet is not
// a fault of the box.
func (in *insideChecks) checkDNS(ctx context.Context) Check {
	const name = "example.com"
	_, hostErr := net.DefaultResolver.LookupHost(ctx, name)
	guestErr := in.Lima.Exec(ctx, in.Record.Instance, ssh.Exec{Args: []string{"getent", "hosts", name}})
	switch {
	case hostErr == nil && guestErr != nil:
		return fail(name+" resolves here but not in the box", "hermes-box restart")
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
		return fail("the box can use an ssh agent of this machine: "+out.String(), "remove ForwardAgent for it from your ssh configuration")
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

// checkForward checks that a service of the box answers on its port of this machine.
func (in *insideChecks) checkForward(ctx context.Context, service string) Check {
	port, err := in.portOf(ctx, service, func() *protocol.Status { return in.status })
	switch {
	case err == nil:
		return pass(fmt.Sprintf("port %d answers", port.Port))
	case port.State == PortNotListening && in.state(service) == protocol.Starting:
		return warn(fmt.Sprintf("port %d does not answer yet: %s is starting", port.Port, service), "wait a minute; to check again: hermes-box doctor")
	case port.State == PortUnknown:
		return unknown(err, fault.HintOf(err))
	}
	return failed(err)
}

// state returns the state of a component according to the status of the box; empty if there is no status.
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

// checkLoopback fails if the box answers on an address of this machine other than loopback. It warns of another program
// that answers on a port of the box there. Link-local addresses are not tried.
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
		return warn(strings.Join(others, "; "), "to avoid mistaking it for the box, set another port in "+in.Config.Path)
	case tried == 0:
		return pass("this machine has no other address")
	}
	return pass(fmt.Sprintf("%d other addresses and ports refuse", tried))
}
