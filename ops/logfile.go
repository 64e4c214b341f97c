package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hermes-box/limactl"
)

// keptLogs and keptLogBytes are how many operation logs are kept for a box, and how large they may be together.
const (
	keptLogs     = 200
	keptLogBytes = 64 << 20
)

// operationLog is the form of the names of operation logs. Sorted by name they are sorted by time.
var operationLog = regexp.MustCompile(`^\d{8}T\d{6}Z-[a-z]+\.ndjson$`)

// pruneLogs removes the oldest operation logs in dir, so that at most keep of them stay, with at most keptLogBytes in
// total. The newest one stays whatever its size. It does not touch other files.
func pruneLogs(dir string, keep int) {
	entries, _ := os.ReadDir(dir) // sorted by name
	kept, size := 0, int64(0)
	for _, e := range slices.Backward(entries) {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !operationLog.MatchString(e.Name()) {
			continue
		}
		size += info.Size()
		if kept++; kept > keep || kept > 1 && size > keptLogBytes {
			_ = os.Remove(filepath.Join(dir, e.Name())) // a leftover file does no harm
		}
	}
}

// logged copies the events of an operation into the box's log directory, one file per operation, and removes the
// oldest files. Byte counts are left out, since they would be most of the file. If a log cannot be written, the
// operation does not fail.
func (b *Box) logged(operation string, sink Sink) (Sink, func()) {
	dir := b.Home.Logs(b.Name())
	if os.MkdirAll(dir, 0o700) != nil {
		return sink, func() {}
	}
	pruneLogs(dir, keptLogs-1)
	name := time.Now().UTC().Format("20060102T150405Z") + "-" + operation + ".ndjson"
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return sink, func() {}
	}
	enc := json.NewEncoder(f)
	return func(e Event) {
		if e.Kind != Bytes {
			enc.Encode(e)
		}
		if sink != nil {
			sink(e)
		}
	}, func() { f.Close() }
}

// commandLogSize is the size at which the command log is rotated; one older file is kept.
const commandLogSize = 4 << 20

// CommandLog returns a function that appends a run of limactl or ssh to one file, for `logs commands`. The arguments of
// commands in the box may be secret: only their length is kept. A home that does not exist yet is not created.
func CommandLog(home string) func(limactl.Command) {
	path := commandLog(home)
	var mu sync.Mutex
	return func(c limactl.Command) {
		mu.Lock()
		defer mu.Unlock()
		if info, err := os.Stat(path); err == nil && info.Size() > commandLogSize {
			os.Rename(path, path+".1")
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		defer f.Close()
		json.NewEncoder(f).Encode(entry(c))
	}
}

// LoggedCommand is a line of the command log: one run of limactl or ssh, or one request to the service in the
// box. Status is -1 if it did not end by itself.
type LoggedCommand struct {
	Time    time.Time `json:"time"`
	Command string    `json:"command"`
	Inside  string    `json:"inside,omitempty"` // the command or verb that ran in the box, without its arguments
	Seconds float64   `json:"seconds"`
	Status  int       `json:"status"`
	Error   string    `json:"error,omitempty"`
	Stderr  string    `json:"stderr,omitempty"`
}

// Line returns the run in one line: the command in the box or, if there is none, the program and its arguments,
// without the directory of the program and the options that every run of ssh has.
func (c LoggedCommand) Line() string {
	if c.Inside != "" {
		return "in the box: " + c.Inside
	}
	program, args, _ := strings.Cut(c.Command, " ")
	program = filepath.Base(program)
	if program == "ssh" {
		args = sshOptions.ReplaceAllString(args, "")
	}
	return strings.TrimSpace(program + " " + args)
}

var sshOptions = regexp.MustCompile(`-F \S+ |-o \S+ `)

// Canceled reports whether the run was ended because its result was no longer needed, which is no failure.
func (c LoggedCommand) Canceled() bool { return c.Error == context.Canceled.Error() }

func entry(c limactl.Command) LoggedCommand {
	args, inside := slices.Clone(c.Args), ""
	if len(args) > 0 && args[0] == "connect" { // to the service in the box
		inside = c.Inside
	}
	if i := slices.Index(args, "--"); i >= 0 && i+2 < len(args) && filepath.Base(args[0]) == "ssh" {
		inside = c.Inside // without "--", ssh only controls its master connection, and runs nothing in the box
		args = append(args[:i+2], fmt.Sprintf("<%d bytes>", len(strings.Join(args[i+2:], " "))))
	}
	e := LoggedCommand{Time: time.Now().UTC(), Command: strings.Join(args, " "), Inside: inside, Seconds: c.Duration.Seconds(), Status: c.Status, Stderr: c.Stderr}
	if c.Err != nil {
		e.Error = c.Err.Error()
	}
	return e
}

func commandLog(home string) string { return filepath.Join(home, "logs", "commands.ndjson") }
