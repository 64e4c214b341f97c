package rehearsal

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// upMark is the line that the driver prints when logins are possible; all other lines come from the console.
const upMark = "\x00up"

// driver runs as the process of a VM until it gets SIGTERM or its directory is gone.
func driver(home string, args []string) int {
	set, _ := flags(args, "pidfile")
	pidfile := set["pidfile"]
	dir := filepath.Dir(pidfile)
	in, err := load(home, filepath.Base(dir))
	if err != nil {
		return 1
	}
	if err := writePID(pidfile); err != nil {
		return 1
	}
	ctx, off := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer off()
	go func() {
		for exists(dir) {
			time.Sleep(100 * time.Millisecond)
		}
		off()
	}()
	serial, err := os.Create(filepath.Join(in.Dir, "serial.log"))
	if err != nil {
		return 1
	}
	defer serial.Close()
	console := io.MultiWriter(serial, os.Stdout)
	for again, first := true, true; again; first = false {
		up := func() {
			in.setBoot(rand.Text())
			if first { // Lima looks at the first boot only
				fmt.Fprintln(os.Stdout, "\n"+upMark)
			}
		}
		in.setBoot("")
		again, err = in.boot(ctx, home, console, up)
		in.setBoot("")
		if err != nil {
			fmt.Fprintf(serial, "Kernel panic: %v\r\n", err)
			return 1
		}
	}
	return 0
}

// boot runs the guest of the instance until ctx ends or the guest reboots. An instance without a guest waits for the end
// of ctx. again reports that the guest reboots.
func (in *instance) boot(ctx context.Context, home string, console io.Writer, up func()) (again bool, err error) {
	if inside == nil {
		fmt.Fprint(console, "[    0.000000] Linux version 6.12 (rehearsal)\r\n")
		up()
		<-ctx.Done()
		return false, nil
	}
	for _, name := range in.format {
		reformat(home, name)
	}
	return inside.Boot(ctx, in.machine(home), console, up)
}

// currentBoot returns the id of the boot in which logins are possible now; empty if they are not.
func (in *instance) currentBoot() string {
	id, _ := os.ReadFile(filepath.Join(in.Dir, "boot"))
	return string(id)
}

// setBoot changes what currentBoot returns. It ignores errors: the directory may be gone.
func (in *instance) setBoot(id string) {
	path := filepath.Join(in.Dir, "boot")
	if id == "" {
		_ = os.Remove(path)
		return
	}
	if os.WriteFile(path+".tmp", []byte(id), 0o600) == nil {
		_ = os.Rename(path+".tmp", path)
	}
}

// reformat imitates Lima's boot script for a disk that it has to format: the script searches for the disk's label, of
// which ext4 keeps only 16 bytes, and formats the disk again if it does not find the whole label (lima #5407).
func reformat(home, name string) {
	if len("lima-"+name) > 16 {
		dir := diskDir(home, name)
		_, _ = os.Remove(filepath.Join(dir, "filesystem.json")), os.RemoveAll(filepath.Join(dir, "files"))
	}
}

// machine returns the hardware of the instance's guest.
func (in *instance) machine(home string) Machine {
	m := Machine{Dir: GuestDir(home, in.Name), Memory: in.Memory}
	for _, name := range in.disks {
		d, err := inspectDisk(home, name)
		if err == nil {
			m.Disks = append(m.Disks, Disk{Dir: d.Dir, Size: d.Size})
		}
	}
	return m
}

// writePID writes the pid of this process. It renames the file, so that a reader never sees a part of it.
func writePID(path string) error {
	if err := os.WriteFile(path+".tmp", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}
