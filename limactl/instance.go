package limactl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// State is what an instance is, in the product's words.
type State string

// The states. Every status of Lima's is mapped to one of them; Instance.Cause says why where it is not plain.
const (
	Absent   State = "absent"
	Stopped  State = "stopped"
	Starting State = "starting"
	Running  State = "running"
	Degraded State = "degraded" // something of it lives, and not all works
)

// Instance is one VM as Lima knows it.
type Instance struct {
	Name    string
	State   State
	Cause   string // why it is in this state, and what to do; empty when there is nothing to say
	Dir     string // links resolved
	SSHPort int    // on host loopback; 0 before the first start
	Arch    string // amd64 or arm64
	VMType  string // vz or qemu
	CPUs    int
	Memory  int64 // bytes
	Disk    int64 // of the root disk, bytes
	Disks   []string
	PID     int    // of the host agent; 0 if none of ours runs
	Dead    bool   // degraded, and the VM itself does not run: what is left can be killed without loss
	Raw     string // Lima's own word for the state
	Left    bool   // degraded, and no VM at all: it was only half made or half deleted, and there is nothing to start
}

// listed is one line of limactl list.
type listed struct {
	Name            string `json:"name"`
	Status          string `json:"status"`
	Dir             string `json:"dir"`
	VMType          string `json:"vmType"`
	Arch            string `json:"arch"`
	CPUs            int    `json:"cpus"`
	Memory          int64  `json:"memory"`
	Disk            int64  `json:"disk"`
	SSHLocalPort    int    `json:"sshLocalPort"`
	HostAgentPID    int    `json:"hostAgentPID"`
	DriverPID       int    `json:"driverPID"`
	AdditionalDisks []struct {
		Name string `json:"name"`
	} `json:"additionalDisks"`
	errors string // from stderr: in the JSON they are empty objects
}

// listFormat is not "json": that goes through yq line by line, which fails whole past 64 KiB an instance.
const listFormat = "--format={{json .}}"

const listLimit = 30 * time.Second

// Instance looks at one instance. ErrNotFound if there is none of exactly this name.
func (c *Client) Instance(ctx context.Context, name string) (Instance, error) {
	if err := checkName("instance", name); err != nil {
		return Instance{}, err
	}
	out, err := c.run(ctx, listLimit, nil, "list", listFormat, name)
	if err != nil {
		if strings.Contains(out.stderr, "No instance matching "+name+" found") {
			return Instance{}, fmt.Errorf("instance %s: %w", name, ErrNotFound)
		}
		// A directory without lima.yaml: what a create or a delete that was killed leaves.
		if leftover(c.Dir(name)) {
			f := look(c.Dir(name), "")
			return Instance{Name: name, State: Degraded, Dir: c.Dir(name), Left: !f.agent.ours && !f.driver.ours,
				Cause: c.Dir(name) + " is left of an instance that was only half made or half deleted"}, nil
		}
		return Instance{}, err
	}
	list, err := decode[listed](out.stdout)
	if err != nil {
		return Instance{}, fmt.Errorf("limactl list: %w", err)
	}
	for _, l := range list {
		if l.Name == name {
			l.errors = listErrors(out.stderr, name)
			return inspect(l), nil
		}
	}
	return Instance{}, fmt.Errorf("instance %s: %w", name, ErrNotFound)
}

// Instances looks at all instances of this LIMA_HOME.
func (c *Client) Instances(ctx context.Context) ([]Instance, error) {
	out, err := c.run(ctx, listLimit, nil, "list", listFormat)
	if err != nil {
		// One stray directory fails the whole list; the ones that can be named cannot.
		names := c.named()
		var failed *CommandError
		if !errors.As(err, &failed) || len(names) == 0 {
			return nil, err
		}
		if out, err = c.run(ctx, listLimit, nil, append([]string{"list", listFormat}, names...)...); err != nil {
			return nil, err
		}
	}
	list, err := decode[listed](out.stdout)
	if err != nil {
		return nil, fmt.Errorf("limactl list: %w", err)
	}
	instances := make([]Instance, 0, len(list))
	for _, l := range list {
		l.errors = listErrors(out.stderr, l.Name)
		instances = append(instances, inspect(l))
	}
	return instances, nil
}

// named are the directories of LIMA_HOME that hold an instance.
func (c *Client) named() []string {
	entries, _ := os.ReadDir(c.config.Home)
	var names []string
	for _, e := range entries {
		if checkName("instance", e.Name()) != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(c.Dir(e.Name()), "lima.yaml")); err == nil {
			names = append(names, e.Name())
		}
	}
	return names
}

// leftover tells whether dir is there without an instance in it.
func leftover(dir string) bool {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, "lima.yaml"))
	return errors.Is(err, os.ErrNotExist)
}

// Whole tells from the files alone, without asking Lima, whether both an instance and a disk are there, neither of
// them only half made or half deleted. It is an error if that cannot be seen.
func (c *Client) Whole(instance, disk string) (bool, error) {
	if err := errors.Join(checkName("instance", instance), checkName("disk", disk)); err != nil {
		return false, err
	}
	// A delete takes them in any order: that lima.yaml is still there says nothing of the root disk.
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

func inspect(l listed) Instance {
	f := look(l.Dir, l.VMType)
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
	in.Dead = in.State == Degraded && !f.driver.ours
	return in
}

// listErrors finds what limactl list warned about an instance.
func listErrors(stderr, name string) string {
	for line := range strings.Lines(stderr) {
		msg := logField(line, "msg")
		if strings.HasPrefix(msg, "instance ") && strings.Contains(msg, name) && strings.HasSuffix(msg, "has errors") {
			return strings.Trim(logField(strings.TrimRight(line, "\n"), "errors"), "[]")
		}
	}
	return ""
}

// decode reads what limactl prints: one JSON value a line, an array in some versions, and now and then a line that
// is neither, which is passed over. Something that begins as JSON and is none is an error.
func decode[T any](data []byte) ([]T, error) {
	var all []T
	for {
		data = bytes.TrimLeft(data, " \t\r\n")
		if len(data) == 0 {
			return all, nil
		}
		if data[0] != '{' && data[0] != '[' {
			_, data, _ = bytes.Cut(data, []byte("\n"))
			continue
		}
		d := json.NewDecoder(bytes.NewReader(data))
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("output is no JSON: %w", err)
		}
		if raw[0] == '[' {
			var many []T
			if err := json.Unmarshal(raw, &many); err != nil {
				return nil, err
			}
			all = append(all, many...)
		} else {
			var one T
			if err := json.Unmarshal(raw, &one); err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		data = data[d.InputOffset():]
	}
}

// goArch and limaArch translate between Go's names of machines and Lima's.
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
