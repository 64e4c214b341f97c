// Package keyringtest starts a real gnome-keyring on a private D-Bus session, for tests.
package keyringtest

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dbus "github.com/keybase/dbus"
)

// service is the name of the Secret Service on the bus.
const service = "org.freedesktop.secrets"

// address is the variable with the address of a session bus.
const address = "DBUS_SESSION_BUS_ADDRESS"

// Bus starts a session bus without a keyring. It returns environment variables that make a program use this bus and
// none of the user's files. If dbus-daemon is not installed, Bus skips the test as NOT CHECKED. The bus ends with the
// test.
func Bus(t *testing.T) (env map[string]string) {
	t.Helper()
	need(t, "dbus-daemon")
	home, err := os.MkdirTemp("", "hb") // a short name, since the path of a socket must not be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	env = map[string]string{}
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"} {
		env[name] = home
	}
	config := filepath.Join(home, "bus.conf")
	// Without a directory of services the bus starts no program by itself.
	text := `<busconfig><type>session</type><listen>unix:dir=` + home + `</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow eavesdrop="false"/><allow own="*"/></policy></busconfig>`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	bus := exec.Command("dbus-daemon", "--config-file="+config, "--nofork", "--print-address=1")
	out, err := bus.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, bus)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	env[address] = strings.TrimSpace(line)
	return env
}

// Start is like Bus, and also starts a gnome-keyring on the bus. Its default keyring is unlocked. If gnome-keyring is
// not installed, Start skips the test as NOT CHECKED.
func Start(t *testing.T) (env map[string]string) {
	t.Helper()
	need(t, "gnome-keyring-daemon")
	env = Bus(t)
	daemon := exec.Command("gnome-keyring-daemon", "--foreground", "--components=secrets", "--unlock")
	daemon.Stdin = strings.NewReader("a password of a test")
	daemon.Env = os.Environ()
	for name, value := range env {
		daemon.Env = append(daemon.Env, name+"="+value)
	}
	start(t, daemon)
	conn := connect(t, env)
	owned := make(chan *dbus.Signal, 16)
	conn.Signal(owned)
	if err := conn.AddMatchSignal(dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged")); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(20 * time.Second)
	for {
		var has bool
		if err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, service).Store(&has); err != nil {
			t.Fatal(err)
		}
		if has {
			return env
		}
		select {
		case <-owned:
		case <-deadline:
			t.Fatal("gnome-keyring-daemon does not come up")
		}
	}
}

// Lock locks the default keyring. It stays locked, since nobody types its password in a test.
func Lock(t *testing.T, env map[string]string) {
	t.Helper()
	keyring := []dbus.ObjectPath{"/org/freedesktop/secrets/aliases/default"}
	err := connect(t, env).Object(service, "/org/freedesktop/secrets").Call("org.freedesktop.Secret.Service.Lock", 0, keyring).Err
	if err != nil {
		t.Fatal(err)
	}
}

// Items returns how many secrets are in the default keyring.
func Items(t *testing.T, env map[string]string) int {
	t.Helper()
	return len(items(t, connect(t, env)))
}

func items(t *testing.T, conn *dbus.Conn) []dbus.ObjectPath {
	t.Helper()
	all, err := conn.Object(service, "/org/freedesktop/secrets/aliases/default").GetProperty("org.freedesktop.Secret.Collection.Items")
	if err != nil {
		t.Fatal(err)
	}
	paths, ok := all.Value().([]dbus.ObjectPath)
	if !ok {
		t.Fatalf("the items are %v", all)
	}
	return paths
}

// Wipe deletes all secrets of the default keyring.
func Wipe(t *testing.T, env map[string]string) {
	t.Helper()
	conn := connect(t, env)
	for _, path := range items(t, conn) {
		if err := conn.Object(service, path).Call("org.freedesktop.Secret.Item.Delete", 0).Err; err != nil {
			t.Fatal(err)
		}
	}
}

func connect(t *testing.T, env map[string]string) *dbus.Conn {
	t.Helper()
	conn, err := dbus.Dial(env[address])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := errors.Join(conn.Auth(nil), conn.Hello()); err != nil {
		t.Fatal(err)
	}
	return conn
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("NOT CHECKED: the Secret Service: there is no %s: apt-get install dbus gnome-keyring", program)
	}
}

// start starts a program that is killed at the end of the test.
func start(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
}
