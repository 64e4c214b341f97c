package machine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	systemd     = "org.freedesktop.systemd1"
	getProperty = "org.freedesktop.DBus.Properties.Get"
)

// unitProperties are the properties that Units reads, each with its D-Bus interface.
var unitProperties = []struct{ face, name string }{
	{systemd + ".Unit", "Job"}, // read before the state: a job that ends in between has changed the state by then
	{systemd + ".Unit", "ActiveState"},
	{systemd + ".Unit", "SubState"},
	{systemd + ".Unit", "ActiveEnterTimestamp"},
	{systemd + ".Service", "Result"},
	{systemd + ".Service", "NRestarts"},
}

// Units returns the state of each unit; a unit that does not exist is "inactive". It asks systemd over the system bus,
// all properties at once, and needs no privilege: status runs every few seconds, and starting systemctl each time would
// cost more than the rest of it.
func (m *Machine) Units(ctx context.Context, units ...string) (map[string]Unit, error) {
	all := make(map[string]Unit, len(units))
	if len(units) == 0 {
		return all, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := dbus.ConnectSystemBus(dbus.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("ask systemd: %w", err)
	}
	defer conn.Close()
	var calls []*dbus.Call
	for _, unit := range units {
		obj := conn.Object(systemd, unitPath(unit))
		for _, p := range unitProperties {
			calls = append(calls, obj.GoWithContext(ctx, getProperty, 0, make(chan *dbus.Call, 1), p.face, p.name))
		}
	}
	for i, unit := range units {
		u := Unit{Active: "inactive"}
		for j, p := range unitProperties {
			call := calls[i*len(unitProperties)+j]
			select {
			case <-call.Done:
			case <-ctx.Done():
				return nil, fmt.Errorf("ask systemd about %s: %w", unit, ctx.Err())
			}
			var value dbus.Variant
			if err := call.Store(&value); err != nil {
				if p.face == systemd+".Service" && !strings.HasSuffix(unit, ".service") {
					continue
				}
				return nil, fmt.Errorf("ask systemd about %s: %w", unit, err)
			}
			u.set(p.name, value.Value())
		}
		// systemd keeps the time of the last start after a stop.
		if u.Active != "active" {
			u.Since = time.Time{}
		}
		all[unit] = u
	}
	return all, nil
}

func (u *Unit) set(property string, value any) {
	switch v := value.(type) {
	case string:
		switch property {
		case "ActiveState":
			u.Active = v
		case "SubState":
			u.Sub = v
		case "Result":
			u.Result = v
		}
	case []any: // id and path of the job; id 0 means no job
		if len(v) == 2 && property == "Job" {
			id, _ := v[0].(uint32)
			u.Queued = id != 0
		}
	case uint64: // microseconds since 1970
		if property == "ActiveEnterTimestamp" && v != 0 {
			u.Since = time.UnixMicro(int64(v))
		}
	case uint32:
		if property == "NRestarts" {
			u.Restart = int(v)
		}
	}
}

// unitPath returns the D-Bus object path of a unit. systemd loads the unit when the object is read, whether the unit file
// exists or not.
func unitPath(unit string) dbus.ObjectPath {
	var path strings.Builder
	path.WriteString("/org/freedesktop/systemd1/unit/")
	for i := range len(unit) {
		c := unit[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9' {
			path.WriteByte(c)
			continue
		}
		fmt.Fprintf(&path, "_%02x", c)
	}
	return dbus.ObjectPath(path.String())
}
