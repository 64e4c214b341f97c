// Package bootstrap turns a fresh root disk into a box, and checks that the data disk of a box is mounted.
package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"hermes-box/guest/component"
	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/object"
	"hermes-box/guest/protocol"
)

// done is the content of layout.Bootstrapped.
type done struct {
	Box      string `json:"box"`
	DataUUID string `json:"data_uuid"`
	At       string `json:"at"` // RFC 3339, UTC: time of the last complete run
}

// Env is the machine that the bootstrap works on.
type Env struct {
	durable.Tree
	Machine Machine
	Emit    func(protocol.Event)
	Now     func() time.Time
}

// Machine is the set of actions that the bootstrap needs. Package machine describes the methods.
type Machine interface {
	Run(ctx context.Context, c machine.Cmd) ([]byte, error)
	PackageVersion(ctx context.Context, name string) (string, error)
	InstallPackages(ctx context.Context, archives []string) error
	EnsureUser(ctx context.Context, name string, id int, home string) error
	Disk(ctx context.Context, device string) (machine.Disk, error)
	Format(ctx context.Context, device, uuid, label string) error
	MapData(ctx context.Context, device string) (string, error)
	Mount(ctx context.Context, path string) error
	Sync(ctx context.Context) error
	Offline(ctx context.Context) error
	EnableUnit(ctx context.Context, unit string) error
	StartUnit(ctx context.Context, unit string) error
	ReloadUnits(ctx context.Context) error
	Usage(path string) protocol.Usage
	Mounts
	durable.Chowner
}

// run is one bootstrap.
type run struct {
	Env
	ask protocol.Bootstrap
	out protocol.Bootstrapped
}

// Run turns a fresh root disk into a box: packages, user, login keys, the data disk, mounts, environment and units. A
// phase that has nothing to do is skipped, so that Run can be repeated after any failure. If ask.DataOnly is set, Run
// ends when the data disk is mounted.
//
// Run formats only the data disk, and only if the disk is provably blank or an earlier run was interrupted while it
// formatted the disk.
func Run(ctx context.Context, env Env, ask protocol.Bootstrap) (protocol.Bootstrapped, error) {
	if err := check(ask); err != nil {
		return protocol.Bootstrapped{}, err
	}
	unlock, err := env.Lock(ctx, layout.Mutex)
	if err != nil {
		return protocol.Bootstrapped{}, err
	}
	defer unlock()
	b := &run{Env: env, ask: ask, out: protocol.Bootstrapped{Packages: []string{}}}
	phases := []struct {
		name string
		do   func(context.Context) (changed bool, err error)
	}{
		{"offline", b.offline},
		{"packages", b.packages},
		{"user", b.user},
		{"keys", b.keys}, // before another directory is mounted over the home
		{"format", b.disk},
		{"mount", b.mount},
		{"environment", b.environment},
		{"files", b.files},
		{"terminal", b.terminal},
		{"units", b.units},
		{"swap", b.swap},
		{"login", b.login}, // as late as possible: a mistake here locks everyone out
		{"record", b.record},
	}
	for _, p := range phases {
		env.Emit(protocol.Event{Phase: p.name, State: protocol.Started})
		changed, err := p.do(ctx)
		if err != nil {
			env.Emit(protocol.Event{Phase: p.name, State: protocol.Failed})
			failure := component.Failure(err, "bootstrap", p.name)
			failure.Component = "" // the bootstrap concerns the whole guest
			return protocol.Bootstrapped{}, failure
		}
		state := protocol.Skipped
		if changed {
			state = protocol.Done
		}
		env.Emit(protocol.Event{Phase: p.name, State: state})
		if p.name == "mount" && ask.DataOnly {
			break
		}
	}
	return b.out, nil
}

// The patterns are compiled when they are first used: most calls of the helper do not need them.
var (
	boxName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })
	device  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/dev/(vd[b-z]|disk/by-id/[A-Za-z0-9._:-]+)$`) }) // vda is the root
	uuid    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`) })
)

func check(ask protocol.Bootstrap) error {
	invalid := func(format string, args ...any) error {
		return &protocol.Error{Code: "invalid_input", Message: "bootstrap: " + fmt.Sprintf(format, args...)}
	}
	switch {
	case !boxName().MatchString(ask.Box):
		return invalid("box name %q", ask.Box)
	case !device().MatchString(ask.DataDevice):
		return invalid("data device %q; accepted: /dev/vdb to /dev/vdz, or a name below /dev/disk/by-id", ask.DataDevice)
	case ask.DataUUID != "" && !uuid().MatchString(ask.DataUUID):
		return invalid("data uuid %q", ask.DataUUID)
	case !component.ValidPorts(ask.Ports):
		return invalid("ports %d and %d", ask.Ports.Executor, ask.Ports.Dashboard)
	}
	return nil
}

// offline cuts the network off, if that was asked for, and records that KeepOffline must do so after a reboot.
func (b *run) offline(ctx context.Context) (bool, error) {
	if !b.ask.Offline {
		return false, nil
	}
	if err := b.Write(b.Path(layout.Offline), nil, 0o644); err != nil {
		return false, err
	}
	return true, b.Machine.Offline(ctx)
}

// KeepOffline cuts the network off again, after a reboot, if the bootstrap of this machine cut it off.
func KeepOffline(ctx context.Context, t durable.Tree, m interface{ Offline(context.Context) error }) error {
	if _, err := os.Stat(t.Path(layout.Offline)); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return m.Offline(ctx)
}

// packages installs, all at once, the OS packages that are missing or have another version.
func (b *run) packages(ctx context.Context) (bool, error) {
	if err := os.MkdirAll(b.Path(protocol.StateDir), 0o755); err != nil {
		return false, err
	}
	var archives, names []string
	for _, p := range b.ask.Packages {
		have, err := b.Machine.PackageVersion(ctx, p.Name)
		if err != nil {
			return false, err
		}
		if have == p.Version {
			continue
		}
		archive, err := b.objects().Open(ctx, protocol.Artifact{Name: p.Name + " " + p.Version, Digest: p.Digest})
		if err != nil {
			return false, err
		}
		archive.Close()
		archives, names = append(archives, archive.Name()), append(names, p.Name)
	}
	if len(archives) == 0 {
		return false, nil
	}
	if err := b.Machine.InstallPackages(ctx, archives); err != nil {
		return false, err
	}
	for _, p := range b.ask.Packages {
		have, err := b.Machine.PackageVersion(ctx, p.Name)
		if err != nil {
			return false, err
		}
		if have != p.Version {
			return false, fmt.Errorf("package %s has version %q after installing %s", p.Name, have, p.Version)
		}
	}
	for _, archive := range archives {
		if err := b.Remove(archive); err != nil {
			return false, err
		}
	}
	b.out.Packages = names
	return true, nil
}

// user makes the agent user.
func (b *run) user(ctx context.Context) (bool, error) {
	if err := b.Machine.EnsureUser(ctx, layout.AgentUser, layout.AgentID, layout.LoginHome); err != nil {
		return false, err
	}
	// tmux sessions of the agent user stay when it logs out.
	_, err := b.Machine.Run(ctx, machine.Cmd{Path: "loginctl", Args: []string{"enable-linger", layout.AgentUser}})
	return true, err
}

// record writes the record that the bootstrap is complete.
func (b *run) record(ctx context.Context) (bool, error) {
	if err := CheckData(ctx, b.Tree, b.Machine); err != nil {
		return false, err
	}
	record := done{Box: b.ask.Box, DataUUID: b.out.DataUUID, At: b.Now().Format("2006-01-02T15:04:05Z")}
	return true, b.WriteJSON(b.Path(layout.Bootstrapped), record)
}

func (b *run) objects() object.Store { return object.Store{Tree: b.Tree} }

// environment writes the environment of the agent user, and the ports of the services.
func (b *run) environment(context.Context) (bool, error) {
	changed, err := b.manage(layout.EnvironmentFile, strings.Join(layout.Environment, "\n")+"\n")
	if err != nil {
		return false, err
	}
	moved, err := component.WritePorts(b.Tree, b.ask.Ports)
	return changed || moved, err
}
