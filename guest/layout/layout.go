// Package layout names files, users and units inside the guest. Paths are absolute in the guest: pass them to
// durable.Tree.Path.
package layout

import (
	"path"

	"hermes-box/guest/protocol"
)

// Directories of the releases, and the links to the current ones and to their commands.
const (
	Opt      = "/opt/hermes-box"
	Current  = Opt + "/current" // Current/<component> is a symlink to the current release
	Commands = "/usr/local/bin" // symlinks into Current
	Tm       = Commands + "/tm" // symlink to the helper, which attaches to tmux if it is run by this name
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
	DataUUID        = protocol.StateDir + "/data.uuid"      // file system UUID of the data disk; written once
	Formatting      = protocol.StateDir + "/format.json"    // exists while the data disk is being formatted
	Bootstrapped    = protocol.StateDir + "/bootstrap.json" // written last: the bootstrap is complete
	Offline         = protocol.StateDir + "/offline"        // exists if the network is cut off at every boot
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
	AgentHome = protocol.AgentHome
	LoginHome = protocol.LoginHome
	Workspace = protocol.Workspace
)

// Files of the components: all on the data disk except ExecutorImage.
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

// Units. HermesUnit and ExecutorUnit have ConditionPathExists= for a file of the component's release, so that the unit of
// a component that is not applied stays inactive instead of failing. RecoveryUnit runs before both.
const (
	HermesUnit   = "hermes.service"
	ExecutorUnit = "executor.service"
	RecoveryUnit = "hermes-box-recovery.service"
	DataUnit     = "hermes-box-data.service" // makes the device that /data is mounted from
)

// ReleasesOf returns the directory of the releases of a component.
func ReleasesOf(component string) string {
	if component == "node" || component == "uv" {
		return path.Join(Opt, "tooling", component)
	}
	return path.Join(Opt, "releases", component)
}

// CurrentOf returns the symlink to the current release of a component.
func CurrentOf(component string) string { return path.Join(Current, component) }
