package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"hermes-box/guest/protocol"
	"hermes-box/limactl"
	"hermes-box/ops/fault"
)

// Exec runs one command in the box as agent, in /workspace, with exact argument boundaries. Its status other
// than 0 is a *limactl.ExitError.
func (b *Box) Exec(ctx context.Context, e limactl.Exec) error {
	if err := b.running(ctx); err != nil {
		return err
	}
	if e.Dir == "" {
		e.Dir = "/workspace"
	}
	return b.Lima.Exec(ctx, b.Record.Instance, e)
}

// LogSources are what Logs can show.
var LogSources = []string{"hermes", "executor", "recovery", "operations", "commands", "boot"}

// Logs writes the last lines of a log, and with follow goes on until the context ends. The logs of services come
// from inside the box; those of the host can be read whatever state it is in.
func (b *Box) Logs(ctx context.Context, source string, lines int, follow bool, out io.Writer) error {
	switch source {
	case "operations":
		return b.operationLog(lines, out)
	case "commands":
		return tailFile(commandLog(b.Dir), lines, out)
	case "boot":
		return tailFile(filepath.Join(b.Home.Lima(), b.Name(), "serial.log"), lines, out)
	case "hermes", "executor", "recovery":
		if err := b.running(ctx); err != nil {
			return err
		}
		return b.guestLog(ctx, protocol.LogRequest{Source: source, Lines: lines, Follow: follow}, out)
	}
	return fault.New(fault.InvalidInput, "no log is called %q", source).Hint("hermes-box logs %v", LogSources)
}

// operationLog is the newest operation of the box.
func (b *Box) operationLog(lines int, out io.Writer) error {
	dir := b.Home.Logs(b.Name())
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return fault.New(fault.NotFound, "box %q has no operation on record", b.Name()).Hint("hermes-box create")
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	return tailFile(filepath.Join(dir, entries[len(entries)-1].Name()), lines, out)
}

func tailFile(path string, lines int, out io.Writer) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return fault.New(fault.NotFound, "there is no %s yet", filepath.Base(path)).Hint("hermes-box create")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, lastLines(string(data), lines))
	return err
}

// Open is the address of a service of a running box.
func (b *Box) Open(ctx context.Context, service string) (string, error) {
	url, err := b.URL(service)
	if err != nil {
		return "", err
	}
	return url, b.running(ctx)
}

// URL is where a service of the box answers on this machine.
func (b *Box) URL(service string) (string, error) {
	switch service {
	case "executor":
		return fmt.Sprintf("http://127.0.0.1:%d/", b.Ports().Executor), nil
	case "dashboard":
		return fmt.Sprintf("http://127.0.0.1:%d/", b.Ports().Dashboard), nil
	}
	return "", fault.New(fault.InvalidInput, "nothing called %q can be opened", service).
		Hint("hermes-box open executor, or hermes-box open dashboard")
}
