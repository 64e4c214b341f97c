package limactl

import (
	"errors"
	"os"
	"path/filepath"
)

// State is the state of an instance.
type State string

// The states. Each status that Lima reports is mapped to one of them; Instance.Cause says why if that is not obvious.
const (
	Absent   State = "absent"
	Stopped  State = "stopped"
	Starting State = "starting"
	Running  State = "running"
	Degraded State = "degraded" // part of it runs, but it does not fully work
)

// Instance is a VM as Lima and its own files describe it.
type Instance struct {
	Name    string
	State   State
	Cause   string   // the reason for the state, with a hint; may be empty
	Notes   []string // problems that Lima reported at boot; they may be wrong or no longer exist
	Dir     string
	SSHPort int    // on host loopback; 0 if the instance does not run
	Arch    string // amd64 or arm64
	VMType  string // vz or qemu
	CPUs    int
	Memory  int64 // bytes
	Disk    int64 // of the root disk, bytes
	Disks   []string
	PID     int    // of the host agent; 0 if it does not run, or if this user cannot see it
	Hidden  bool   // this user cannot see whether the VM or its host agent runs
	Dead    bool   // degraded, and the VM itself does not run: killing the remaining processes loses nothing
	Raw     string // the status that Lima reports
	Left    bool   // degraded, and not a VM: it was only partly created or partly deleted, and cannot be started
}

// leftover reports whether dir exists but holds no instance.
func leftover(dir string) bool {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, "lima.yaml"))
	return errors.Is(err, os.ErrNotExist)
}

// Whole reports, from the files alone, whether both an instance and a disk exist and neither is only partly created or
// partly deleted. It returns an error if it cannot read the files.
func (c *Client) Whole(instance, disk string) (bool, error) {
	if err := errors.Join(checkName("instance", instance), checkName("disk", disk)); err != nil {
		return false, err
	}
	// A delete removes files in any order, so the root disk may be gone although lima.yaml exists.
	for _, file := range []string{
		filepath.Join(c.Dir(instance), "lima.yaml"), filepath.Join(c.Dir(instance), "disk"), filepath.Join(c.diskDir(disk), "datadisk"),
	} {
		switch _, err := os.Lstat(file); {
		case errors.Is(err, os.ErrNotExist):
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

// Notes returns the problems that Lima reported when a running instance booted, from its files alone; see
// Instance.Notes.
func (c *Client) Notes(name string) []string {
	if checkName("instance", name) != nil {
		return nil
	}
	if f := readFacts(c.Dir(name), ""); f.last != nil {
		return f.last.Errors
	}
	return nil
}

func inspect(l listed) Instance {
	f := readFacts(l.Dir, l.VMType)
	in := Instance{
		Name: l.Name, Dir: l.Dir, SSHPort: l.SSHLocalPort, Arch: goArch(l.Arch), VMType: l.VMType,
		CPUs: l.CPUs, Memory: l.Memory, Disk: l.Disk, Raw: l.Status,
	}
	for _, d := range l.AdditionalDisks {
		in.Disks = append(in.Disks, d.Name)
	}
	if f.agent.ours {
		in.PID = f.agent.pid
	}
	in.State, in.Cause = judge(l.Status, l.errors, f)
	if in.State == Running && f.last != nil {
		in.Notes = f.last.Errors
	}
	in.Hidden = f.hidden()
	in.Dead = in.State == Degraded && !f.driver.ours && !in.Hidden
	return in
}

// goArch and limaArch convert between the names of architectures in Go and in Lima.
func goArch(lima string) string {
	switch lima {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return lima
}

func limaArch(goarch string) string {
	switch goarch {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return goarch
}
