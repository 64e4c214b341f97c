package component

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// WritePorts records the ports for the units. If they have changed, it first makes a marker file for each service,
// since the service may run with the old ports. A later apply of a component restarts its service if there is a marker
// for the service. The markers survive a crash.
func WritePorts(t durable.Tree, p protocol.Ports) (changed bool, err error) {
	if old, err := Ports(t); err == nil && old == p {
		return false, nil
	}
	if err := os.MkdirAll(t.Path(layout.PortsMoved), 0o755); err != nil {
		return false, err
	}
	for _, c := range All() {
		if c.Unit() == "" {
			continue
		}
		if err := t.Write(t.Path(layout.PortsMoved, c.Unit()), nil, 0o644); err != nil {
			return false, err
		}
	}
	text := fmt.Sprintf("EXECUTOR_PORT=%d\nDASHBOARD_PORT=%d\n", p.Executor, p.Dashboard)
	return true, t.Write(t.Path(layout.Ports), []byte(text), 0o644)
}

// Ports returns the recorded ports.
func Ports(t durable.Tree) (p protocol.Ports, err error) {
	text, err := os.ReadFile(t.Path(layout.Ports))
	if err != nil {
		return p, err
	}
	if _, err := fmt.Sscanf(string(text), "EXECUTOR_PORT=%d\nDASHBOARD_PORT=%d\n", &p.Executor, &p.Dashboard); err != nil {
		return p, fmt.Errorf("%s: %w", layout.Ports, err)
	}
	return p, nil
}

// PortsMoved reports whether a unit has not been restarted since the ports changed.
func PortsMoved(t durable.Tree, unit string) (bool, error) {
	_, err := os.Lstat(t.Path(layout.PortsMoved, unit))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ClearPortsMoved removes the marker file of a unit that has been restarted.
func ClearPortsMoved(t durable.Tree, unit string) error {
	return t.Remove(t.Path(layout.PortsMoved, unit))
}

// ValidPorts reports whether p has two valid TCP ports that differ.
func ValidPorts(p protocol.Ports) bool {
	ok := func(n int) bool { return n > 0 && n < 1<<16 }
	return ok(p.Executor) && ok(p.Dashboard) && p.Executor != p.Dashboard
}
