package limactl

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"time"

	"hermes-box/internal/sanitize"
)

// BootEvent is something that happened while an instance starts: a line of a log, or the state of the host agent. Each
// event has the complete state.
type BootEvent struct {
	Time     time.Time
	Line     string // a line that limactl or the host agent logged
	Waits    string // the requirement that the host agent waits for according to Line, such as "ssh"
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

// decodeEvent reads a line of ha.stdout.log. It returns false for anything else, such as a line that is not complete
// yet.
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

// waits matches the requirement that the host agent waits for in its log (Lima 2.1, pkg/hostagent/requirements.go).
var waits = regexp.MustCompile(`Waiting for the \w+ requirement \d+ of \d+: "(.+)"`)

// logEvent returns the event for a line that limactl or the host agent logged.
func logEvent(line string) BootEvent {
	e := BootEvent{Time: time.Now(), Line: logMessage(line)}
	if found := waits.FindStringSubmatch(e.Line); found != nil {
		e.Waits = found[1]
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

// follow calls on for each event of a log that happened after begin, until ctx ends. The log need not exist yet, and
// may be replaced by a new one when the instance starts.
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

// replaced reports whether path is another file than the open one.
func replaced(file *os.File, path string) bool {
	was, err := file.Stat()
	if err != nil {
		return true
	}
	is, err := os.Stat(path)
	return err != nil || !os.SameFile(was, is)
}
