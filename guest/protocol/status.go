package protocol

// Status answers VerbStatus.
type Status struct {
	Protocol    int               `json:"protocol"`
	OS          string            `json:"os"`
	Arch        string            `json:"arch"`
	Kernel      string            `json:"kernel"`
	Uptime      int64             `json:"uptime"` // seconds
	Now         string            `json:"now"`    // guest clock, RFC 3339 with nanoseconds
	CPUs        int               `json:"cpus"`
	Load        float64           `json:"load"` // one minute
	Memory      Usage             `json:"memory"`
	Swap        Usage             `json:"swap"`
	OOMKills    int               `json:"oom_kills,omitempty"` // processes killed since the boot because memory ran out
	Killed      []Killed          `json:"killed,omitempty"`    // the last of them
	Root        Usage             `json:"root"`
	Data        Usage             `json:"data"`
	DataUUID    string            `json:"data_uuid,omitempty"`
	DataProblem string            `json:"data_problem,omitempty"` // why /data is not usable
	Lock        string            `json:"lock,omitempty"`         // applied.lock, canonical text
	LockProblem string            `json:"lock_problem,omitempty"` // why applied.lock cannot be read; Lock is empty then
	Journal     string            `json:"journal,omitempty"`      // the change that runs or was interrupted, or why the journal cannot be read
	Components  []ComponentStatus `json:"components,omitempty"`
}

// Killed is a process that the kernel killed because memory ran out.
type Killed struct {
	At      string `json:"at"` // RFC 3339, UTC
	PID     int    `json:"pid"`
	Process string `json:"process"`
}

// Usage counts bytes.
type Usage struct {
	Used  int64 `json:"used"`
	Total int64 `json:"total"`
}

// Component states. The host adds "drifted".
const (
	Healthy       = "healthy"
	SetupRequired = "setup-required"
	Starting      = "starting" // its service was started a short time ago and is not healthy yet
	Stopped       = "stopped"
	FailedState   = "failed"
	Unknown       = "unknown" // its state could not be found out
)

// ComponentStatus is the applied version of a component and its state.
type ComponentStatus struct {
	Name     string `json:"name"`
	Applied  string `json:"applied,omitempty"`
	Previous string `json:"previous,omitempty"`
	State    string `json:"state"`
	Detail   string `json:"detail,omitempty"`   // why, in a few words
	Service  string `json:"service,omitempty"`  // such as active; empty without a service or an answer of systemd
	Since    int64  `json:"since,omitempty"`    // seconds the service has been up
	GivenUp  bool   `json:"given_up,omitempty"` // systemd has given up on its service, or keeps restarting it
	Log      string `json:"log,omitempty"`      // the last lines of its service's log, if GivenUp
}
