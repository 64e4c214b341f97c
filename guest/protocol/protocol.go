// Package protocol is what travels between the host and the helper inside the guest. It is the only package
// that both sides import.
//
// The host runs `hermes-box-guest channel MARK` over ssh, as root through sudo where the verb changes something. The two
// then speak the frames of package frame: the host sends one Call, and the bytes of stdin if the verb reads any; the
// helper sends events, the bytes of stdout if the verb writes any, and one result, error or exit status. The host compares
// the version of the protocol before it sends anything. Unknown fields are refused by both sides: host and helper are
// built together.
//
// A verb can also be run by hand, as `hermes-box-guest VERB`, with its request as JSON on stdin; it then prints Messages
// as lines of JSON.
package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Version is raised with every change to this package. Host and helper must agree exactly.
const Version = 5

// Paths inside the guest that both sides use.
const (
	HelperPath = "/usr/local/libexec/hermes-box-guest"
	StateDir   = "/var/lib/hermes-box"
	DataDir    = "/data"
)

// Verbs of the helper.
const (
	VerbHello     = "hello"     // -> Hello; needs no privilege
	VerbReceive   = "receive"   // stdin: tar of objects -> Received
	VerbBootstrap = "bootstrap" // Bootstrap -> Bootstrapped
	VerbApply     = "apply"     // Transaction -> Applied
	VerbRecover   = "recover"   // -> Recovered; finishes or undoes an interrupted apply
	VerbStart     = "start"     // -> Status; starts the services of the applied components
	VerbQuiesce   = "quiesce"   // -> Quiesced; stops services, syncs the data disk
	VerbStatus    = "status"    // -> Status; needs no privilege
	VerbVersions  = "versions"  // -> Versions; runs each applied release
	VerbLogs      = "logs"      // LogRequest -> raw text instead of NDJSON; needs root to read the journal
)

// Ways to run the helper that are not verbs.
const (
	Channel = "channel" // channel MARK: one Call over frames
	Attach  = "attach"  // attach [--terminfo=ENTRY] [-- COMMAND...]: tmux session main, or a command, on this terminal
)

// VerbExec runs a Command. Only a channel can ask for it: the end is an exit status and not a result.
const VerbExec = "exec"

// Call is what a host asks for over a channel.
type Call struct {
	Verb    string          `json:"verb"`
	Request json.RawMessage `json:"request,omitempty"`
}

// Command is the request of VerbExec. All of it may hold any bytes but NUL.
type Command struct {
	Args [][]byte `json:"args"`          // the program, looked up in the PATH of a login, and its arguments
	Env  [][]byte `json:"env,omitempty"` // KEY=value, added to the environment of a login
	Dir  []byte   `json:"dir,omitempty"` // empty: the user's home
}

// Decode reads the one JSON value that data must be. Unknown fields and anything behind the value are errors.
func Decode(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the JSON value")
	}
	return nil
}

// Message is one line of an answer; exactly one field is set.
type Message struct {
	Event  *Event          `json:"event,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// Phases of installing a release, in order.
const (
	PhaseUpload   = "upload" // only if Transaction.Arriving is set
	PhaseStage    = "stage"
	PhaseSmoke    = "smoke"
	PhaseActivate = "activate"
	PhaseHealth   = "health"
)

// States of a phase.
const (
	Started = "started"
	Done    = "done"
	Failed  = "failed"
	Skipped = "skipped" // nothing to do
	Undone  = "undone"
)

// Event reports the progress of a verb. Component is empty for work on the whole guest; Phase is then a short name such as
// "format", "mount" or "packages". Done and Total count bytes, if bytes are moved.
type Event struct {
	Component string `json:"component,omitempty"`
	Phase     string `json:"phase,omitempty"`
	State     string `json:"state,omitempty"`
	Line      string `json:"line,omitempty"` // a line for the log
	Done      int64  `json:"done,omitempty"`
	Total     int64  `json:"total,omitempty"`
}

// Error is a failure of a verb. Code is one of the error codes of the product.
type Error struct {
	Code      string `json:"code"` // invalid_input, integrity_failed, health_failed, external_failed, preflight_failed
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"`
	Component string `json:"component,omitempty"`
	Phase     string `json:"phase,omitempty"`
	Output    string `json:"output,omitempty"` // last lines of the program or service that failed
}

func (e *Error) Error() string { return e.Message }

// Hello answers VerbHello.
type Hello struct {
	Protocol int      `json:"protocol"`
	Helper   string   `json:"helper"`  // sha256:<hex> of the running executable
	Objects  []string `json:"objects"` // digests of the objects it has
}

// Received answers VerbReceive. Each entry of the tar on stdin is a regular file named "sha256/<hex>" or "sha512/<hex>". It
// is written beside, hashed, synced and renamed. If the digest is wrong, the verb fails and there is no object of that name.
type Received struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// Bootstrap makes a fresh root disk into a box. It can be run again: what is done is skipped.
//
// Format permits formatting the data disk, and only if it is provably blank. If Format is false or the disk is not blank, the
// disk must already have the file system DataUUID.
type Bootstrap struct {
	Box        string    `json:"box"`
	DataDevice string    `json:"data_device"` // "/dev/vdb"
	DataUUID   string    `json:"data_uuid,omitempty"`
	Format     bool      `json:"format"`
	Ports      Ports     `json:"ports"`
	Packages   []Package `json:"packages,omitempty"`
}

// Ports are guest loopback ports, the same numbers as on the host.
type Ports struct {
	Executor  int `json:"executor"`
	Dashboard int `json:"dashboard"`
}

// Package is an OS package whose archive has been received.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// Bootstrapped answers VerbBootstrap.
type Bootstrapped struct {
	DataUUID  string   `json:"data_uuid"`
	Formatted bool     `json:"formatted"`
	Packages  []string `json:"packages"` // installed by this run
}

// Transaction is one change of what is applied: its components, one at a time and in order. Lock is the canonical text of the
// lock they come from; it becomes applied.lock when all are healthy.
type Transaction struct {
	ID         string      `json:"id"`
	Lock       string      `json:"lock"`
	Components []Component `json:"components"`
	Ports      Ports       `json:"ports"`
	Arriving   bool        `json:"arriving,omitempty"` // objects are being sent at the same time: wait for those that are missing
}

// Component is a release to install. Python is set for hermes only.
type Component struct {
	Name      string     `json:"name"`
	Version   string     `json:"version"`
	Artifacts []Artifact `json:"artifacts"`
	Python    *Python    `json:"python,omitempty"`
}

// Objects returns the digests of everything the release is made of.
func (c Component) Objects() []string {
	var all []string
	for _, a := range c.Artifacts {
		all = append(append(all, a.Digest), a.Blobs...)
	}
	return all
}

// Python is the interpreter of a release: one of its artifacts, or the guest's own if Artifact is empty.
type Python struct {
	Version  string `json:"version"`
	Artifact string `json:"artifact,omitempty"`
}

// Artifact is a received object. For an OCI image, Digest is that of the manifest, and Blobs are the digests of its config and
// layers, each an object of its own.
type Artifact struct {
	Name   string   `json:"name"`
	Digest string   `json:"digest"`
	Blobs  []string `json:"blobs,omitempty"`
}

// Applied answers VerbApply.
type Applied struct {
	Components []AppliedComponent `json:"components"`
}

// AppliedComponent is what applied.json records of a component after a healthy activation.
type AppliedComponent struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Digest   string `json:"digest"` // of the release's artifacts: see ReleaseDigest
	Previous string `json:"previous,omitempty"`
	At       string `json:"at"` // RFC 3339, UTC
}

// Recovered answers VerbRecover.
type Recovered struct {
	Action string `json:"action"` // none, finished, undone
	Detail string `json:"detail,omitempty"`
}

// Quiesced answers VerbQuiesce.
type Quiesced struct {
	Stopped []string `json:"stopped"`
}

// Versions answers VerbVersions: each applied component was run with an empty home directory.
type Versions struct {
	Components []VersionAnswer `json:"components"`
}

// VersionAnswer is the result for one component. Problem is empty if it runs and prints the applied version.
type VersionAnswer struct {
	Name    string `json:"name"`
	Applied string `json:"applied"`
	Problem string `json:"problem,omitempty"`
}

// LogRequest asks for the log of "hermes", "executor" or "recovery".
type LogRequest struct {
	Source string `json:"source"`
	Lines  int    `json:"lines"`
	Follow bool   `json:"follow"`
}
