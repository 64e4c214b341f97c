package ops

import (
	"context"
	"fmt"

	"hermes-box/guest/protocol"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
)

// Exec runs one command in the box as agent, in /workspace. Its arguments arrive exactly as given. A status other than
// 0 is a *ssh.ExitError.
func (b *Box) Exec(ctx context.Context, e ssh.Exec) error {
	if err := b.reachable(ctx); err != nil {
		return err
	}
	if e.Dir == "" {
		e.Dir = protocol.Workspace
	}
	return b.unreached(ctx, b.Lima.Exec(ctx, b.Record.Instance, e))
}

// Open returns the address of a service of a running box. The service has just answered there.
func (b *Box) Open(ctx context.Context, service string) (string, error) {
	url, err := b.URL(service)
	if err != nil {
		return "", err
	}
	if err := b.reachable(ctx); err != nil {
		return "", err
	}
	_, err = b.portOf(ctx, service, func() *protocol.Status {
		guest, _ := b.guestStatus(ctx) // nil if it does not answer
		return guest
	})
	return url, err
}

// URL returns the address of a service of the box on this machine.
func (b *Box) URL(service string) (string, error) {
	switch service {
	case "executor":
		return fmt.Sprintf("http://127.0.0.1:%d/", b.Ports().Executor), nil
	case "dashboard":
		return fmt.Sprintf("http://127.0.0.1:%d/", b.Ports().Dashboard), nil
	}
	return "", fault.New(fault.InvalidInput, "there is no page %q to open", service).
		Hint("hermes-box open executor, or hermes-box open dashboard")
}
