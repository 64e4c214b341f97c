package machine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	systemd     = "org.freedesktop.systemd1"
	getProperty = "org.freedesktop.DBus.Properties.Get"
	listByNames = systemd + ".Manager.ListUnitsByNames"
)

// listed is a unit in the answer to listByNames.
type listed struct {
	Name, Description, Load, Active, Sub, Following string
	Path                                            dbus.ObjectPath
	Job                                             uint32 // 0: none
	JobType                                         string
	JobPath                                         dbus.ObjectPath
}

// Units returns the state of each unit; a unit that does not exist is "inactive". It asks systemd over the system bus
// and needs no privilege. The dashboard asks for the status every few seconds; starting systemctl each time would cost
// more than the rest of the status.
func (m *Machine) Units(ctx context.Context, units ...string) (map[string]Unit, error) {
	if len(units) == 0 {
		return map[string]Unit{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := m.bus.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask systemd: %w", err)
	}
	ask := askUnits
	if m.watched != nil {
		ask = m.watched.units
	}
	all, err := ask(ctx, conn, units)
	if err != nil { // the connection may hang, or be subscribed to only some of the signals
		m.bus.drop(conn)
	}
	return all, err
}

// askUnits asks systemd for the state of units.
func askUnits(ctx context.Context, conn *dbus.Conn, units []string) (map[string]Unit, error) {
	all := make(map[string]Unit, len(units))
	var list []listed
	if err := conn.Object(systemd, "/org/freedesktop/systemd1").CallWithContext(ctx, listByNames, 0, units).Store(&list); err != nil {
		return nil, fmt.Errorf("ask systemd: %w", err)
	}
	var calls []property // send all before waiting for the first answer
	for _, l := range list {
		all[l.Name] = Unit{Active: l.Active, Sub: l.Sub, Queued: l.Job != 0}
		ask := func(face, name string) {
			call := conn.Object(systemd, l.Path).GoWithContext(ctx, getProperty, 0, make(chan *dbus.Call, 1), systemd+face, name)
			calls = append(calls, property{l.Name, call})
		}
		if l.Active == "active" {
			ask(".Unit", "ActiveEnterTimestamp") // not asked of a stopped unit: systemd would report its last start
		}
		if strings.HasSuffix(l.Name, ".service") {
			ask(".Service", "NRestarts")
			if l.Active != "active" {
				ask(".Service", "Result")
			}
		}
	}
	for _, p := range calls {
		select {
		case <-p.call.Done:
		case <-ctx.Done():
			return nil, fmt.Errorf("ask systemd about %s: %w", p.unit, ctx.Err())
		}
		var value dbus.Variant
		if err := p.call.Store(&value); err != nil {
			return nil, fmt.Errorf("ask systemd about %s: %w", p.unit, err)
		}
		u := all[p.unit]
		u.set(value.Value())
		all[p.unit] = u
	}
	return all, nil
}

// property is a requested property of a unit.
type property struct {
	unit string
	call *dbus.Call
}

// set stores the value of a property. The type of the value shows which property it is.
func (u *Unit) set(value any) {
	switch v := value.(type) {
	case string: // Result
		u.Result = v
	case uint64: // ActiveEnterTimestamp, in microseconds since 1970
		if v != 0 {
			u.Since = time.UnixMicro(int64(v))
		}
	case uint32: // NRestarts
		u.Restart = int(v)
	}
}

// bus is a lasting connection to the system bus. It may be used by several goroutines.
type bus struct {
	mu   sync.Mutex
	conn *dbus.Conn
}

// connect returns the connection, and makes a new one if there is none or it is lost.
func (b *bus) connect(ctx context.Context) (*dbus.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn != nil && b.conn.Connected() {
		return b.conn, nil
	}
	life, end := context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, end)() // ctx bounds only the connecting
	conn, err := dbus.ConnectSystemBus(dbus.WithContext(life))
	if err != nil {
		end()
		return nil, err
	}
	b.conn = conn
	return conn, nil
}

// drop closes a connection, so that the next call makes a new one.
func (b *bus) drop(conn *dbus.Conn) {
	conn.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn == conn {
		b.conn = nil
	}
}
