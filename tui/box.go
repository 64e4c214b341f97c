package tui

import (
	"context"
	"fmt"
	"io"
	"os/exec"

	"hermes-box/limactl"
	"hermes-box/ops"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
)

// Box is the box that the dashboard shows and changes. All methods but Known may take long and end with their context.
// They may be called at the same time.
type Box interface {
	// Known reads the host's files. It starts no process and does not wait.
	Known() Known
	Status(ctx context.Context) (*ops.Status, error)
	// Do runs an operation by its name.
	Do(ctx context.Context, operation string, force bool, sink ops.Sink) error
	// Doctor runs the checks and calls a function with each. Without a box it runs the checks of create.
	Doctor(ctx context.Context, each func(ops.Check)) error
	Logs(ctx context.Context, source string, lines int, follow bool, out io.Writer) error
	// Open returns the address of a service of a running box: executor or dashboard.
	Open(ctx context.Context, service string) (string, error)
	// Attach returns the command of a session in the box, not started.
	Attach(ctx context.Context) (*exec.Cmd, error)
}

// Known holds what the host's files say about the box.
type Known struct {
	Err    error // the config cannot be read: the rest is empty
	Name   string
	Config string // path of hermes-box.yaml
	Exists bool   // the host has a record of the box
	Ready  bool   // its create was finished
	Lock   *lock.Lock
	// Machine describes the VM that create makes: "4 CPUs, 8GiB of memory, ...".
	Machine string
	Status  *ops.Status
}

// On returns the box that a config describes, on a host; locate finds the config. Every call reads everything again, so
// that the dashboard shows what other commands and editors have changed.
func On(h *ops.Host, locate func() (string, error)) Box { return onHost{h, locate} }

type onHost struct {
	host   *ops.Host
	locate func() (string, error)
}

func (o onHost) open() (*ops.Box, error) {
	path, err := o.locate()
	if err != nil {
		return nil, err
	}
	return o.host.Open(path)
}

func (o onHost) Known() Known {
	b, err := o.open()
	if err != nil {
		return Known{Err: err}
	}
	return Known{
		Name: b.Name(), Config: b.Config.Path, Lock: b.Lock,
		Exists: b.Record != nil, Ready: b.Record != nil && b.Record.Ready,
		Machine: machine(b.Config.VM), Status: b.Known(),
	}
}

func (o onHost) Status(ctx context.Context) (*ops.Status, error) {
	b, err := o.open()
	if err != nil {
		return nil, err
	}
	return b.Status(limactl.Unlogged(ctx)) // the command log would hold little else
}

func (o onHost) Do(ctx context.Context, operation string, force bool, sink ops.Sink) error {
	b, err := o.open()
	if err == nil {
		_, err = b.Do(ctx, operation, force, sink)
	}
	return err
}

func (o onHost) Doctor(ctx context.Context, each func(ops.Check)) error {
	b, err := o.open()
	if err != nil {
		each(ops.Check{ID: "config", Title: "config file", Verdict: ops.Fail, Evidence: err.Error(), Repair: fault.HintOf(err)})
		return nil
	}
	b.Doctor(ctx, each)
	return ctx.Err()
}

func (o onHost) Logs(ctx context.Context, source string, lines int, follow bool, out io.Writer) error {
	b, err := o.open()
	if err != nil {
		return err
	}
	return b.Logs(ctx, source, lines, follow, out)
}

func (o onHost) Open(ctx context.Context, service string) (string, error) {
	b, err := o.open()
	if err != nil {
		return "", err
	}
	return b.Open(ctx, service)
}

func (o onHost) Attach(ctx context.Context) (*exec.Cmd, error) {
	b, err := o.open()
	if err != nil {
		return nil, err
	}
	return b.Attach(ctx)
}

// machine describes a VM.
func machine(v config.VM) string {
	return fmt.Sprintf("%d CPUs, %s of memory, a root disk of up to %s and a data disk of up to %s",
		v.CPUs, config.FormatSize(v.Memory), config.FormatSize(v.RootDisk), config.FormatSize(v.DataDisk))
}
