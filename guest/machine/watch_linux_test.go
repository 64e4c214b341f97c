package machine

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// fakeSystemd is systemd on a bus of its own, with one unit.
type fakeSystemd struct {
	conn   *dbus.Conn
	active atomic.Value // string
	asked  atomic.Int32 // how often the units were listed
	subs   atomic.Int32 // subscriptions on this bus
}

const fakeUnit = "hermes.service"

// Subscribe counts the subscriptions.
func (f *fakeSystemd) Subscribe() *dbus.Error {
	f.subs.Add(1)
	return nil
}

// ListUnitsByNames answers for the one unit.
func (f *fakeSystemd) ListUnitsByNames(names []string) ([]listed, *dbus.Error) {
	f.asked.Add(1)
	return []listed{{Name: fakeUnit, Active: f.active.Load().(string), Sub: "running", Path: unitPath(fakeUnit), JobPath: "/"}}, nil
}

// Get answers for the properties of the unit.
func (f *fakeSystemd) Get(_, name string) (dbus.Variant, *dbus.Error) {
	switch name {
	case "ActiveEnterTimestamp":
		return dbus.MakeVariant(uint64(1796000000000000)), nil
	case "NRestarts":
		return dbus.MakeVariant(uint32(1)), nil
	}
	return dbus.MakeVariant("exit-code"), nil
}

// become changes the state of the unit and signals it.
func (f *fakeSystemd) become(t *testing.T, active string) {
	t.Helper()
	f.active.Store(active)
	if err := f.conn.Emit(unitPath(fakeUnit), "org.freedesktop.DBus.Properties.PropertiesChanged", "x", map[string]dbus.Variant{}, []string{}); err != nil {
		t.Fatal(err)
	}
}

// startSystemd starts a message bus with a fakeSystemd, and makes it the system bus of this process.
func startSystemd(t *testing.T) *fakeSystemd {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		t.Skip("NOT CHECKED: dbus-daemon is not installed")
	}
	dir, err := os.MkdirTemp("", "hb") // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	config := filepath.Join(dir, "bus.conf")
	text := fmt.Sprintf(`<busconfig><type>session</type><listen>unix:path=%s/bus</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`, dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("dbus-daemon", "--config-file="+config, "--nofork", "--print-address")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", strings.TrimSpace(address))
	conn, err := dbus.ConnectSystemBus()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	f := &fakeSystemd{conn: conn}
	f.active.Store("active")
	for _, e := range []error{
		conn.Export(f, "/org/freedesktop/systemd1", systemd+".Manager"),
		conn.Export(f, unitPath(fakeUnit), "org.freedesktop.DBus.Properties"),
	} {
		if e != nil {
			t.Fatal(e)
		}
	}
	if reply, err := conn.RequestName(systemd, dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatal(reply, err)
	}
	return f
}

// wantState asks until the unit has the wanted state: a signal may come a moment after the change.
func wantState(t *testing.T, m *Machine, active string) Unit {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		units, err := m.Units(t.Context(), fakeUnit)
		if err == nil && units[fakeUnit].Active == active {
			return units[fakeUnit]
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v; want %s", units, err, active)
		}
	}
}

func TestUnits(t *testing.T) {
	f := startSystemd(t)
	m := New()
	if u := wantState(t, m, "active"); u.Since.Unix() != 1796000000 || u.Restart != 1 || u.Result != "" {
		t.Errorf("%+v", u)
	}
	f.active.Store("failed")
	if u := wantState(t, m, "failed"); !u.Since.IsZero() || u.Result != "exit-code" {
		t.Errorf("%+v", u)
	}
}

// systemd is asked again only after a signal of the unit, or after a while.
func TestWatch(t *testing.T) {
	f := startSystemd(t)
	m := New()
	m.Watch()
	wantState(t, m, "active")
	for range 5 {
		wantState(t, m, "active")
	}
	if asked, subs := f.asked.Load(), f.subs.Load(); asked != 1 || subs != 1 { // systemd refuses a second subscription
		t.Errorf("asked %d times, subscribed %d times", asked, subs)
	}
	f.become(t, "failed")
	wantState(t, m, "failed")
	f.become(t, "active")
	wantState(t, m, "active")

	// A change without a signal is seen once the cached state is too old.
	f.active.Store("inactive")
	m.watched.mu.Lock()
	m.watched.at = time.Now().Add(-knownFor - time.Second)
	m.watched.mu.Unlock()
	wantState(t, m, "inactive")
}

// A call that is canceled while it subscribes to the signals does not keep the next call from subscribing.
func TestWatchThatIsCanceled(t *testing.T) {
	f := startSystemd(t)
	m := New()
	m.Watch()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Units(ctx, fakeUnit); err == nil {
		t.Error("a canceled call has an answer")
	}
	wantState(t, m, "active")
	f.become(t, "failed")
	wantState(t, m, "failed")
}

// After the connection to the bus is lost, Units makes a new one.
func TestWatchAfterTheBusIsGone(t *testing.T) {
	f := startSystemd(t)
	m := New()
	m.Watch()
	wantState(t, m, "active")
	m.bus.conn.Close()
	f.active.Store("failed")
	wantState(t, m, "failed")
}
