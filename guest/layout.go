package guest

import (
	"path"

	"hermes-box/guest/protocol"
)

// Where things are inside the guest. Every one is an absolute path there: give it to Guest.Path.
const (
	optDir      = "/opt/hermes-box"
	currentDir  = optDir + "/current" // current/<component> -> the active release
	commandDir  = "/usr/local/bin"
	objectsDir  = protocol.StateDir + "/objects"
	smokeDir    = protocol.StateDir + "/smoke"
	journalFile = protocol.StateDir + "/journal.json"
	appliedFile = protocol.StateDir + "/applied.json"
	lockFile    = protocol.StateDir + "/applied.lock"
	releaseFile = protocol.StateDir + "/releases.json"

	mutexFile    = protocol.StateDir + "/mutex"         // held by whoever applies or recovers
	receiveMutex = protocol.StateDir + "/receive-mutex" // held by whoever receives

	// portsFile holds EXECUTOR_PORT and DASHBOARD_PORT for EnvironmentFile= of the units; bootstrap and
	// apply write it with Guest.writePorts.
	portsFile = protocol.StateDir + "/ports.env"

	movedDir = protocol.StateDir + "/ports-moved" // an empty file for each unit that has not been restarted since

	agentHome   = protocol.DataDir + "/home/agent"
	secretsDir  = protocol.DataDir + "/secrets"         // 0700, root
	executorDir = protocol.DataDir + "/executor"        // mounted as /data in the container
	tokenFile   = secretsDir + "/executor-token.env"    // EXECUTOR_AUTH_TOKEN=<hex>, 0600, root
	imageEnv    = currentDir + "/executor/executor.env" // EXECUTOR_IMAGE=<tag> for executor.service
	agentID     = 1000
	nobodyID    = 65534
)

// Units that apply starts and recover looks at. Each has ConditionPathExists= on what its release provides
// (bin/hermes of the current release, imageEnv), so that a unit whose component is not applied stays inactive instead of failing.
const (
	hermesUnit   = "hermes.service"
	executorUnit = "executor.service"
)

// releasesDir is where the releases of a component are.
func releasesDir(component string) string {
	if component == "node" || component == "uv" {
		return path.Join(optDir, "tooling", component)
	}
	return path.Join(optDir, "releases", component)
}
