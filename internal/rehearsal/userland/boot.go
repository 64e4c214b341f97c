package userland

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hermes-box/guest"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
	"hermes-box/internal/rehearsal/simulate"
)

// Hardware is the hardware of a machine.
type Hardware struct {
	Memory int64                 // bytes
	Disks  []Disk                // besides the root disk: /dev/vdb, /dev/vdc, ...
	Socket func(port int) string // the path of the socket that replaces a port of guest loopback
}

// Disk is a directory with the content of a disk.
type Disk struct {
	Dir  string
	Size int64
}

// Boot runs the machine until ctx ends or somebody runs reboot in it. It writes the messages of the boot to console and
// calls ready when logins are possible. again reports that the machine reboots. An error means that the machine did not
// boot.
func (m Machine) Boot(ctx context.Context, hw Hardware, console io.Writer, ready func()) (again bool, err error) {
	g, err := m.Prepare(hw.Disks)
	if err != nil {
		return false, err
	}
	if err := m.memory(hw.Memory); err != nil {
		return false, err
	}
	m.printBoot(ctx, console)
	sys := g.Machine.(*simulate.Machine)
	if _, err := os.Stat(m.path(layout.Bootstrapped)); err == nil {
		if sys.StartUnit(ctx, recoveryUnit) == nil { // the services require it
			if err := sys.StartEnabled(ctx); err != nil {
				fmt.Fprintf(console, "[FAILED] %v\r\n", err)
			}
		}
	}
	fmt.Fprintf(console, "\r\n%s demo ttyS0\r\n\r\ndemo login: ", osName)
	ready()
	serving, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.serve(serving, console)
	}()
	again = m.listen(ctx, sys, hw)
	end()
	if again {
		<-ended // before the next boot makes the socket again
	}
	fmt.Fprint(console, "[  OK  ] Reached target System Shutdown.\r\n")
	m.pause(context.Background(), 700*time.Millisecond)
	return again, nil
}

// rebootFile is the file that requests a reboot of the machine.
const rebootFile = "run/reboot"

// reboot asks for a reboot of the machine, which ends all sessions.
func (m Machine) reboot([]string) int {
	if os.Getenv(asRoot) == "" {
		fmt.Fprintln(os.Stderr, "reboot: must be superuser")
		return 1
	}
	if err := errors.Join(os.MkdirAll(m.path("run"), 0o755), os.WriteFile(m.path(rebootFile), nil, 0o600)); err != nil {
		fmt.Fprintln(os.Stderr, "reboot:", err)
		return 1
	}
	return 0
}

// Prepare does the first part of a boot: it fills the root disk at the first boot, attaches the disks and mounts the
// file systems in fstab. It starts no unit. It returns the engine on this machine.
func (m Machine) Prepare(disks []Disk) (*guest.Guest, error) {
	if err := m.firstBoot(); err != nil {
		return nil, err
	}
	if err := os.Remove(m.path(rebootFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	sys := simulate.Open(m.Root)
	for i, d := range disks {
		if err := sys.Attach(fmt.Sprintf("/dev/vd%c", 'b'+i), d.Dir, d.Size); err != nil {
			return nil, err
		}
	}
	if err := sys.Reboot(); err != nil {
		return nil, err
	}
	if err := sys.Remount(m.fault("data-unmounted")); err != nil {
		return nil, err
	}
	// Each boot has a new id.
	if err := os.WriteFile(m.path("proc/sys/kernel/random/boot_id"), []byte(rand.Text()+"\n"), 0o644); err != nil {
		return nil, err
	}
	return m.open(), nil
}

const osName = "Demo Linux (no VM)"

// firstBoot writes the files of an image and of cloud-init to a new root disk. It links the programs at every boot.
func (m Machine) firstBoot() error {
	const done = "var/lib/cloud/instance"
	if _, err := os.Stat(m.path(done)); err == nil {
		return m.install()
	}
	for _, dir := range []string{"data", "workspace", "tmp", "root", "var/log", "usr/local/bin", "usr/local/libexec", protocol.StateDir} {
		if err := os.MkdirAll(m.path(dir), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"etc/os-release":                    fmt.Sprintf("PRETTY_NAME=%q\nID=demo\n", osName),
		"etc/fstab":                         "/dev/vda / ext4 defaults 0 1\n",
		"etc/environment":                   "#LIMA-START\n#LIMA-END\n",
		"etc/skel/.profile":                 "# demo\n",
		agentHome + "/.ssh/authorized_keys": "ssh-ed25519 AAAAdemo lima\n",
		"usr/bin/python3.13":                "",
		"proc/sys/kernel/osrelease":         "6.12.0-demo\n",
		"proc/sys/kernel/random/boot_id":    "",
	} {
		path := m.path(name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return errors.Join(m.install(), os.MkdirAll(m.path(done), 0o755))
}

func (m Machine) memory(bytes int64) error {
	text := fmt.Sprintf("MemTotal: %d kB\nMemAvailable: %d kB\n", bytes>>10, bytes>>10/8*7)
	return os.WriteFile(m.path("proc/meminfo"), []byte(text), 0o644)
}

// kernel updates the files in /proc. It is called before they are read.
func (m Machine) kernel() {
	boot, err := os.Stat(m.path("proc/sys/kernel/random/boot_id"))
	if err != nil {
		return
	}
	_ = os.WriteFile(m.path("proc/uptime"), fmt.Appendf(nil, "%.2f 0.00\n", time.Since(boot.ModTime()).Seconds()), 0o644)
	_ = os.WriteFile(m.path("proc/loadavg"), []byte("0.04 0.02 0.00 1/99 999\n"), 0o644)
}

// printBoot writes the messages of a boot to the console.
func (m Machine) printBoot(ctx context.Context, console io.Writer) {
	lines := []string{
		"[    0.000000] Linux version 6.12.0-demo (no VM: this is a demo) " + runtime.GOARCH,
		"[    0.412000] virtio_blk virtio1: [vda] root disk",
		"[    0.418000] virtio_blk virtio2: [vdb] data disk",
		"[    0.733000] systemd[1]: Hostname set to <demo>.",
		"[  OK  ] Mounted /data.",
		"[  OK  ] Started OpenSSH server.",
		"[  OK  ] Finished cloud-init.",
		"[  OK  ] Reached target Multi-User System.",
	}
	for _, line := range lines {
		fmt.Fprintf(console, "%s\r\n", line)
		m.pause(ctx, 500*time.Millisecond)
	}
}

// serve runs the service of a box, once the machine is bootstrapped. If the service fails, for example because the path
// of its socket is too long, serve prints the error on the console and ends.
func (m Machine) serve(ctx context.Context, console io.Writer) {
	os.Setenv("TMUX_TMPDIR", m.path("tmp")) // not the tmux of this host
	for {
		if _, err := os.Stat(m.path(layout.Bootstrapped)); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err := os.MkdirAll(filepath.Dir(m.path(protocol.SocketPath)), 0o700); err != nil {
		return
	}
	if err := m.newHelper().Serve(ctx, m.path(protocol.SocketPath), io.Discard); err != nil {
		fmt.Fprintf(console, "[FAILED] the service of the box: %v\r\n", err)
	}
}

// listen serves the ports of the running units until ctx ends or a reboot is asked for.
func (m Machine) listen(ctx context.Context, sys *simulate.Machine, hw Hardware) (reboot bool) {
	open := map[string]*http.Server{}
	defer func() {
		for _, server := range open {
			server.Close()
		}
	}()
	var seen, looked time.Time
	for {
		// Poll less often if nothing has changed for a while. A change is noticed by the time stamp of the record. If
		// two changes have the same time stamp, the second is noticed up to a second later.
		wait := 20 * time.Millisecond
		if time.Since(seen) > 10*time.Second {
			wait = 250 * time.Millisecond
		}
		if changed := sys.Changed(); !changed.Equal(seen) || time.Since(looked) > time.Second {
			seen, looked = changed, time.Now()
			m.follow(sys, hw, open)
		}
		if _, err := os.Lstat(m.path(rebootFile)); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

// follow opens the ports on which a unit listens now, and closes the others.
func (m Machine) follow(sys *simulate.Machine, hw Hardware, open map[string]*http.Server) {
	wanted := sys.Listening()
	for port, server := range open {
		if wanted[port] == nil {
			server.Close() // and removes the socket
			delete(open, port)
		}
	}
	for port, handler := range wanted {
		if open[port] != nil {
			continue
		}
		var number int
		if _, err := fmt.Sscan(port, &number); err != nil {
			continue
		}
		path := hw.Socket(number)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a power cut
			continue
		}
		l, err := net.Listen("unix", path)
		if err != nil {
			continue
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		open[port] = server
		go func() { _ = server.Serve(l) }()
	}
}
