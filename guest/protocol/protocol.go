// Package protocol has the requests and results that the host and the helper inside the guest exchange. It and
// the packages below it are the only ones that both sides import.
//
// The host runs `hermes-box-guest channel MARK` over ssh, as root through sudo if the verb needs root. The two then
// exchange the frames of package frame: the host sends one Call, and the bytes of stdin if the verb reads any; the
// helper sends events, the bytes of stdout if the verb writes any, and one result, error or exit status. The host
// checks the protocol version before it reads an answer and, if the verb needs root, even before it sends the Call.
// Both sides refuse unknown fields: host and helper are built together.
//
// A service of the box also answers the verbs that need no privilege, over SocketPath, without a new process for each
// call. The host connects to the socket through ssh, and MARK is empty.
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
const Version = 8

// Paths inside the guest that both sides use.
const (
	HelperPath = "/usr/local/libexec/hermes-box-guest"
	SocketPath = "/run/hermes-box/helper.sock" // the socket on which HelperUnit listens
	StateDir   = "/var/lib/hermes-box"
	DataDir    = "/data"
	AgentHome  = DataDir + "/home/agent" // mounted at LoginHome, and AgentHome/workspace at Workspace
	LoginHome  = "/home/agent"
	Workspace  = "/workspace"
)

// HelperUnit is the service that runs `hermes-box-guest serve`. When the helper has been replaced, the service ends and
// systemd starts it again.
const HelperUnit = "hermes-box-helper.service"

// Verbs of the helper.
const (
	VerbHello     = "hello"     // -> Hello; needs no privilege
	VerbReceive   = "receive"   // stdin: tar of objects -> Received
	VerbBootstrap = "bootstrap" // Bootstrap -> Bootstrapped
	VerbApply     = "apply"     // Transaction -> Applied
	VerbRecover   = "recover"   // -> Recovered; finishes or undoes an interrupted apply
	VerbStart     = "start"     // -> Status; starts the services of the applied components
	VerbQuiesce   = "quiesce"   // -> Quiesced; stops services, syncs the disks
	VerbStatus    = "status"    // -> Status; needs no privilege
	VerbSession   = "session"   // SessionRequest -> Session; needs no privilege
	VerbBackup    = "backup"    // BackupRequest; stdin: files of an earlier backup; stdout: a stream of package tree -> BackedUp
	VerbUnpack    = "unpack"    // stdin: a stream of package tree, for an empty data disk -> Unpacked
	VerbVersions  = "versions"  // -> Versions; smoke-tests each applied release
	VerbLogs      = "logs"      // LogRequest; stdout: the lines of a log; as root, because it reads the systemd journal
)

// Unprivileged are the verbs that need no privilege. They change nothing and may run twice, and HelperUnit answers them.
var Unprivileged = []string{VerbHello, VerbStatus, VerbSession}

// Ways to run the helper that are not verbs.
const (
	MapData = "map-data" // run by systemd before the data disk is mounted
	Channel = "channel"  // channel MARK: one Call over frames
	Serve   = "serve"    // serve: Calls over SocketPath, one for each connection
	Attach  = "attach"   // attach [--terminfo=ENTRY] [-- COMMAND...]: attach this terminal to tmux session main, or run a command on it
)

// VerbExec runs a Command. It needs a channel, since its answer is an exit status and not a result.
const VerbExec = "exec"

// Call is the request of a host over a channel.
type Call struct {
	Verb    string          `json:"verb"`
	Request json.RawMessage `json:"request,omitempty"`
}

// Command is the request of VerbExec. Its values may hold any bytes except NUL.
type Command struct {
	Args [][]byte `json:"args"`          // the program, looked up in the PATH of a login, and its arguments
	Env  [][]byte `json:"env,omitempty"` // KEY=value, added to the environment of a login
	Dir  []byte   `json:"dir,omitempty"` // empty: the user's home
}

// Decode decodes data, which must be one JSON value. Unknown fields and any text after the value are errors.
func Decode(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF // io.EOF would be the proper end of a stream
	} else if err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the JSON value")
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

// Event reports the progress of a verb. Component is empty for work on the whole guest; Phase is then a short name such
// as "format", "mount" or "packages". Done and Total count bytes, if bytes are moved.
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
	Code      string `json:"code"` // such as invalid_input, integrity_failed, health_failed
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

// Received answers VerbReceive. Each entry of the tar on stdin is a regular file named "sha256/<hex>" or
// "sha512/<hex>". It is written under another name, hashed, synced and renamed. If the digest is wrong, the verb fails
// and the object is not stored.
type Received struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// Bootstrap turns a fresh root disk into a box. It can be run again, and then skips the phases that are done.
//
// Format permits the bootstrap to format the data disk, but only if DataUUID is empty, and the disk is either provably
// blank or was being formatted by an earlier run that was interrupted. Otherwise the disk must already have the file
// system DataUUID, or the one that an earlier run made.
type Bootstrap struct {
	Box        string    `json:"box"`
	DataDevice string    `json:"data_device"` // "/dev/vdb"
	DataUUID   string    `json:"data_uuid,omitempty"`
	Format     bool      `json:"format"`
	DataOnly   bool      `json:"data_only,omitempty"` // stop when the data disk is mounted, so that a backup can be unpacked onto it
	Offline    bool      `json:"offline,omitempty"`   // cut off the network before anything is started, also at later boots: for a drill
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

// Transaction applies Components, one at a time and always in the same order, whatever their order here. Lock is the
// canonical text of the lock that they come from; it becomes applied.lock when all are healthy.
type Transaction struct {
	ID         string      `json:"id"`
	Lock       string      `json:"lock"`
	Components []Component `json:"components"`
	Ports      Ports       `json:"ports"`
	Arriving   bool        `json:"arriving,omitempty"` // objects are still being sent: wait for those that are missing
}

// Component is a release to install. Python is set for hermes only.
type Component struct {
	Name      string     `json:"name"`
	Version   string     `json:"version"`
	Artifacts []Artifact `json:"artifacts"`
	Python    *Python    `json:"python,omitempty"`
}

// Objects returns the digests of all objects of the release.
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

// Artifact is a received object. For an OCI image, Digest is that of the manifest, and Blobs are the digests of its
// config and layers, each an object of its own.
type Artifact struct {
	Name   string   `json:"name"`
	Digest string   `json:"digest"`
	Blobs  []string `json:"blobs,omitempty"`
}

// Applied answers VerbApply.
type Applied struct {
	Components []AppliedComponent `json:"components"`
}

// AppliedComponent is the record of a component in applied.json after a healthy activation.
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

// Versions answers VerbVersions.
type Versions struct {
	Components []VersionAnswer `json:"components"`
}

// VersionAnswer is the result for one component. Problem is empty if the component works and has the applied version.
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
