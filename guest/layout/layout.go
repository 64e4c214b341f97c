// Package layout names the files, users and units inside the guest that more than one part of the helper uses. Paths
// are absolute in the guest: pass them to durable.Tree.Path.
package layout

import (
	"path"

	"hermes-box/guest/protocol"
)

// Releases, what is current, and the commands of it.
const (
	Opt      = "/opt/hermes-box"
	Current  = Opt + "/current" // Current/<component> is a symlink to the active release
	Commands = "/usr/local/bin" // symlinks into Current
	Tm       = Commands + "/tm" // symlink to the helper, which then attaches to tmux
)

// Files of the transaction engine.
const (
	Objects      = protocol.StateDir + "/objects"
	Smoke        = protocol.StateDir + "/smoke"
	Journal      = protocol.StateDir + "/journal.json"
	Applied      = protocol.StateDir + "/applied.json"
	AppliedLock  = protocol.StateDir + "/applied.lock"
	Releases     = protocol.StateDir + "/releases.json"
	Mutex        = protocol.StateDir + "/mutex"         // held while the box is changed
	ReceiveMutex = protocol.StateDir + "/receive-mutex" // held while objects are received
)

// Files of the bootstrap.
const (
	DataUUID        = protocol.StateDir + "/data.uuid"      // filesystem UUID of the data disk; written once
	Formatting      = protocol.StateDir + "/format.json"    // a formatting that has begun
	Bootstrapped    = protocol.StateDir + "/bootstrap.json" // written last: this root is a box
	EnvironmentFile = "/etc/environment"                    // for logins, commands over ssh, and the services
)

// Ports holds EXECUTOR_PORT and DASHBOARD_PORT for the units. PortsMoved has an empty file for each unit that has not
// been restarted since the ports changed.
const (
	Ports      = protocol.StateDir + "/ports.env"
	PortsMoved = protocol.StateDir + "/ports-moved"
)

// The user that agents run as. AgentHome is mounted at LoginHome, and AgentHome/workspace at Workspace.
const (
	AgentUser = "agent"
	AgentID   = 1000
	NobodyID  = 65534
	AgentHome = protocol.DataDir + "/home/agent"
	LoginHome = "/home/agent"
	Workspace = "/workspace"
)

// Files of the components on the data disk.
const (
	ClaudeHome    = AgentHome + "/.claude"
	CodexHome     = AgentHome + "/.codex"
	HermesHome    = AgentHome + "/.hermes"
	ExecutorData  = protocol.DataDir + "/executor"     // /data in the container
	Secrets       = protocol.DataDir + "/secrets"      // 0700, root
	ExecutorToken = Secrets + "/executor-token.env"    // EXECUTOR_AUTH_TOKEN=<hex>, 0600, root
	ExecutorImage = Current + "/executor/executor.env" // EXECUTOR_IMAGE=<tag>, for the unit
)

// CodexConfig is the system-wide configuration of Codex.
const CodexConfig = "/etc/codex/config.toml"

// Units. Those of a component have ConditionPathExists= for a file of its release, so that the unit of a component that
// is not applied stays inactive instead of failing. The recovery unit runs before both.
const (
	HermesUnit   = "hermes.service"
	ExecutorUnit = "executor.service"
	RecoveryUnit = "hermes-box-recovery.service"
)

// ReleasesOf is the directory of the releases of a component.
func ReleasesOf(component string) string {
	if component == "node" || component == "uv" {
		return path.Join(Opt, "tooling", component)
	}
	return path.Join(Opt, "releases", component)
}

// CurrentOf is the symlink to the active release of a component.
func CurrentOf(component string) string { return path.Join(Current, component) }
