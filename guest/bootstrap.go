package guest

import (
	"context"
	"fmt"
	"os"
	"regexp"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// Files of the bootstrap, beside those of the engine.
const (
	uuidFile      = protocol.StateDir + "/data.uuid"      // filesystem of the data disk, once and for all
	formatFile    = protocol.StateDir + "/format.json"    // a formatting under way
	bootstrapFile = protocol.StateDir + "/bootstrap.json" // written last: this root is a box

	agentUser    = "agent"
	loginHome    = "/home/agent" // agentHome is bound here
	workspaceDir = "/workspace"  // agentHome/workspace is bound here
)

// bootstrapped is what bootstrapFile holds.
type bootstrapped struct {
	Box      string `json:"box"`
	DataUUID string `json:"data_uuid"`
	At       string `json:"at"` // RFC 3339, UTC: of the last run
}

// bootstrap is one run.
type bootstrap struct {
	*Guest
	ask protocol.Bootstrap
	out protocol.Bootstrapped
}

// Bootstrap makes a fresh root into a box: packages, user, login keys, the data disk, mounts, environment,
// units. Every phase looks first and is skipped where nothing is left to do, so it can be run again after any
// failure. It formats a provably blank data disk at most once, and nothing else ever.
func (g *Guest) Bootstrap(ctx context.Context, ask protocol.Bootstrap) (protocol.Bootstrapped, error) {
	if err := checkBootstrap(ask); err != nil {
		return protocol.Bootstrapped{}, err
	}
	unlock, err := g.exclusive(ctx)
	if err != nil {
		return protocol.Bootstrapped{}, err
	}
	defer unlock()
	b := &bootstrap{Guest: g, ask: ask, out: protocol.Bootstrapped{Packages: []string{}}}
	phases := []struct {
		name string
		do   func(context.Context) (changed bool, err error)
	}{
		{"packages", b.packages},
		{"user", b.user},
		{"keys", b.keys}, // before the home is bound over
		{"format", b.disk},
		{"mount", b.mount},
		{"environment", b.environment},
		{"files", b.files},
		{"terminal", b.terminal},
		{"units", b.units},
		{"swap", b.swap},
		{"login", b.login}, // last but the record: a mistake here locks everyone out
		{"record", b.record},
	}
	for _, p := range phases {
		g.emit(protocol.Event{Phase: p.name, State: protocol.Started})
		changed, err := p.do(ctx)
		if err != nil {
			g.emit(protocol.Event{Phase: p.name, State: protocol.Failed})
			failure := phaseError(err, "bootstrap", p.name)
			failure.Component = "" // it is work on the whole guest
			return protocol.Bootstrapped{}, failure
		}
		state := protocol.Skipped
		if changed {
			state = protocol.Done
		}
		g.emit(protocol.Event{Phase: p.name, State: state})
	}
	return b.out, nil
}

var (
	boxName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	device  = regexp.MustCompile(`^/dev/(vd[b-z]|disk/by-id/[A-Za-z0-9._:-]+)$`) // vda is the root
	uuid    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

func checkBootstrap(ask protocol.Bootstrap) error {
	invalid := func(format string, args ...any) error {
		return &protocol.Error{Code: "invalid_input", Message: "bootstrap: " + fmt.Sprintf(format, args...)}
	}
	switch {
	case !boxName.MatchString(ask.Box):
		return invalid("box name %q", ask.Box)
	case !device.MatchString(ask.DataDevice):
		return invalid("data device %q; accepted: /dev/vdb to /dev/vdz, or a name below /dev/disk/by-id", ask.DataDevice)
	case ask.DataUUID != "" && !uuid.MatchString(ask.DataUUID):
		return invalid("data uuid %q", ask.DataUUID)
	case !validPorts(ask.Ports):
		return invalid("ports %d and %d", ask.Ports.Executor, ask.Ports.Dashboard)
	}
	return nil
}

// packages installs the OS packages that are not there in exactly the version wanted, all at once.
func (b *bootstrap) packages(ctx context.Context) (bool, error) {
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
		archive, err := b.object(ctx, protocol.Artifact{Name: p.Name + " " + p.Version, Digest: p.Digest})
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
			return false, fmt.Errorf("package %s is %q after installing %s", p.Name, have, p.Version)
		}
	}
	for _, archive := range archives {
		if err := b.remove(archive); err != nil {
			return false, err
		}
	}
	b.out.Packages = names
	return true, nil
}

func (b *bootstrap) user(ctx context.Context) (bool, error) {
	if err := b.Machine.EnsureUser(ctx, agentUser, agentID, loginHome); err != nil {
		return false, err
	}
	// What agent leaves running in tmux outlives its login.
	_, err := b.Machine.Run(ctx, machine.Cmd{Path: "loginctl", Args: []string{"enable-linger", agentUser}})
	return true, err
}

// record tells that all of it is done.
func (b *bootstrap) record(ctx context.Context) (bool, error) {
	if err := b.CheckData(ctx); err != nil {
		return false, err
	}
	done := bootstrapped{Box: b.ask.Box, DataUUID: b.out.DataUUID, At: b.now().Format("2006-01-02T15:04:05Z")}
	return true, b.putJSON(b.Path(bootstrapFile), done)
}
