package limactl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"time"

	"hermes-box/internal/sanitize"
)

// BootEvent is something that happened while an instance starts: a line of a log, or a change of the state of the host
// agent. Each event of the host agent has the complete state of the agent.
type BootEvent struct {
	Time     time.Time
	Line     string // a line that limactl, the host agent or the guest's cloud-init logged
	Waits    string // what the host agent waits for according to Line, such as "ssh" or "the boot scripts"
	SSHPort  int    // 0 until it is known
	Running  bool
	Degraded bool // running, but Lima reported errors
	Exiting  bool
	Errors   []string
	Forward  *Forward // a change of a port forward
}

// Forward is a change of a port forward. "forwarding" does not mean that Lima could bind the host's port.
type Forward struct {
	Type  string `json:"type"` // forwarding, not-forwarding, stopping, failed
	Proto string `json:"protocol"`
	Guest string `json:"guestAddr"`
	Host  string `json:"hostAddr"`
	Error string `json:"error"`
}

// decodeEvent decodes a line of ha.stdout.log. It returns false if the line is no event, or is not complete yet.
func decodeEvent(line []byte) (BootEvent, bool) {
	var e struct {
		Time   time.Time `json:"time"`
		Status struct {
			Running   bool     `json:"running"`
			Degraded  bool     `json:"degraded"`
			Exiting   bool     `json:"exiting"`
			Errors    []string `json:"errors"`
			SSHPort   int      `json:"sshLocalPort"`
			Forward   *Forward `json:"portForward"`
			CloudInit *struct {
				Line string `json:"logLine"`
			} `json:"cloudInitProgress"`
		} `json:"status"`
	}
	if json.Unmarshal(line, &e) != nil || e.Time.IsZero() {
		return BootEvent{}, false
	}
	sanitize.Value(&e) // the guest determines parts of it
	s := e.Status
	b := BootEvent{Time: e.Time, SSHPort: s.SSHPort, Running: s.Running, Degraded: s.Degraded, Exiting: s.Exiting, Errors: s.Errors, Forward: s.Forward}
	if s.CloudInit != nil {
		b.Line = s.CloudInit.Line
	}
	return b, true
}

// waits matches the line with which the host agent logs the requirement that it waits for (Lima 2.1,
// pkg/hostagent/requirements.go).
var waits = regexp.MustCompile(`Waiting for the \w+ requirement \d+ of \d+: "(.+)"`)

// requirements maps names of Lima's requirements to words that can follow "waiting for". Other names can be used as they
// are.
var requirements = map[string]string{
	"user session is ready for ssh":      "the user session",
	"Explicitly start ssh ControlMaster": "the shared ssh connection",
	"boot scripts must have finished":    "the boot scripts",
	"the guest agent to be running":      "Lima's guest agent",
}

// logEvent returns the event for a line that limactl or the host agent logged.
func logEvent(line string) BootEvent {
	e := BootEvent{Time: time.Now(), Line: logMessage(line)}
	if found := waits.FindStringSubmatch(e.Line); found != nil {
		e.Waits = cmp.Or(requirements[found[1]], found[1])
	}
	return e
}

// lastEvent returns the last complete event of a log; nil if there is none.
func lastEvent(path string) *BootEvent {
	lines := bytes.Split(readTail(path, 256<<10), []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		if e, ok := decodeEvent(lines[i]); ok {
			return &e
		}
	}
	return nil
}

// readTail returns the last n bytes of a file; nothing if it cannot be read.
func readTail(path string, n int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > n {
		if _, err := f.Seek(-n, io.SeekEnd); err != nil {
			return nil
		}
	}
	data, _ := io.ReadAll(io.LimitReader(f, n))
	return data
}

// follow passes each event of a log to the function on, unless it happened before begin, until ctx ends. The log need
// not exist yet, and may be replaced by a new one when the instance starts.
func follow(ctx context.Context, path string, begin time.Time, on func(BootEvent)) {
	var (
		file *os.File
		rest []byte
	)
	closeFile := func() {
		if file != nil {
			file.Close()
			file, rest = nil, nil
		}
	}
	defer closeFile()
	drain := func() {
		if file != nil && replaced(file, path) {
			closeFile()
		}
		if file == nil {
			var err error
			if file, err = os.Open(path); err != nil {
				file = nil
				return
			}
		}
		data, _ := io.ReadAll(file)
		rest = append(rest, data...)
		for {
			line, after, ok := bytes.Cut(rest, []byte("\n"))
			if !ok {
				return
			}
			rest = after
			if e, ok := decodeEvent(line); ok && !e.Time.Before(begin) {
				on(e)
			}
		}
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		drain()
		select {
		case <-ctx.Done():
			drain()
			return
		case <-tick.C:
		}
	}
}

// replaced reports whether path no longer names the open file.
func replaced(file *os.File, path string) bool {
	was, err := file.Stat()
	if err != nil {
		return true
	}
	is, err := os.Stat(path)
	return err != nil || !os.SameFile(was, is)
}
