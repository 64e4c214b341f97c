package machine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

// watched caches the state of units until systemd signals that one of them has changed.
type watched struct {
	mu    sync.Mutex
	conn  *dbus.Conn // that receives the signals
	names []string   // the units that are watched on it
	known map[string]Unit
	at    time.Time // when known was read from systemd
	turn  int       // counts the changes
}

// knownFor is how long a state is kept. It is bounded in case systemd has lost its list of subscribers.
const knownFor = 15 * time.Second

// units returns the state of units, from systemd or from the cache.
func (w *watched) units(ctx context.Context, conn *dbus.Conn, names []string) (map[string]Unit, error) {
	if err := w.watch(ctx, conn, names); err != nil {
		return nil, err
	}
	w.mu.Lock()
	all, turn := maps.Clone(w.known), w.turn
	if time.Since(w.at) > knownFor {
		all = nil
	}
	w.mu.Unlock()
	if all != nil {
		return all, nil
	}
	at := time.Now()
	all, err := askUnits(ctx, conn, names)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn == turn { // otherwise a unit has changed meanwhile
		w.known, w.at = maps.Clone(all), at
	}
	return all, nil
}

// watch subscribes to the signals of units, unless it has done so already.
func (w *watched) watch(ctx context.Context, conn *dbus.Conn, names []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == conn && slices.Equal(w.names, names) {
		return nil
	}
	w.conn, w.names, w.known = nil, nil, nil
	if err := conn.Object(systemd, "/org/freedesktop/systemd1").CallWithContext(ctx, systemd+".Manager.Subscribe", 0).Err; err != nil {
		return fmt.Errorf("ask systemd for signals: %w", err)
	}
	for _, name := range names {
		if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(systemd), dbus.WithMatchObjectPath(unitPath(name))); err != nil {
			return fmt.Errorf("ask for the signals of %s: %w", name, err)
		}
	}
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	go func() { // until the connection is closed
		for range signals {
			w.forget()
		}
		w.forget()
	}()
	w.conn, w.names = conn, slices.Clone(names)
	return nil
}

func (w *watched) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known = nil
	w.turn++
}

// unitPath returns the D-Bus object path of a unit.
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
