package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/ops/lock"
)

// noon is the time at which every test begins.
var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

func init() { time.Local = time.UTC }

// fake is a Box for tests. It returns the values of its fields, and records the calls.
type fake struct {
	known   Known
	status  func(context.Context) (*ops.Status, error)
	run     func(ctx context.Context, sink ops.Sink) error
	checks  []ops.Check
	log     string
	logErr  error
	showErr error
	openErr error // of NeedsPassphrase
	refuse  error // of exports, copies and restores, before they begin
	attach  func(context.Context) (*exec.Cmd, error)

	mu    sync.Mutex
	asked []string
}

func (f *fake) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, what)
}

func (f *fake) did(what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Contains(strings.Join(f.asked, " "), what)
}

func (f *fake) Known() Known { return f.known }

func (f *fake) Status(ctx context.Context) (*ops.Status, error) {
	f.note("status")
	if f.status != nil {
		return f.status(ctx)
	}
	return f.known.Status, nil
}

func (f *fake) VerifyBackup(ctx context.Context, id string, progress func(int64)) (*backup.Report, error) {
	f.note("verify:" + id)
	progress(1 << 30)
	if f.run != nil {
		return nil, f.run(ctx, func(ops.Event) {})
	}
	return &backup.Report{ID: id}, nil
}

func (f *fake) DeleteBackup(_ context.Context, id string, _ ops.Sink) error {
	f.note("delete:" + id)
	return nil
}

func (f *fake) ExportBackup(_ context.Context, id, path string, _ ops.Sink) (*ops.BackupExported, error) {
	f.note("export:" + id + ":" + path)
	if f.refuse != nil {
		return nil, f.refuse
	}
	return &ops.BackupExported{ID: id, Path: path, Size: 1 << 30, Recipients: []string{"age1"}, OnlyKey: true}, nil
}

func (f *fake) GetFile(_ context.Context, id, path, dir string, _ ops.Sink) (*ops.BackupGot, error) {
	f.note("get:" + id + ":" + path + ":" + dir)
	if f.refuse != nil {
		return nil, f.refuse
	}
	return &ops.BackupGot{ID: id, Files: 3, Bytes: 4096}, nil
}

func (f *fake) Drill(_ context.Context, id string, intoBox bool, _ ops.Sink) (*ops.Drill, error) {
	f.note(fmt.Sprintf("drill:%s:%v", id, intoBox))
	return &ops.Drill{Backup: id, Entries: 3, Bytes: 4096, Report: "/srv/drills/report.json"}, nil
}

func (f *fake) ShowBackup(_ context.Context, id string) (*ops.BackupShown, error) {
	f.note("show:" + id)
	return &ops.BackupShown{ID: id, Files: someFiles()}, f.showErr
}

func (f *fake) NeedsPassphrase(file string) (bool, error) {
	return strings.Contains(file, "locked"), f.openErr
}

func (f *fake) Restore(_ context.Context, from RestoreFrom, _ ops.Sink) (*ops.Restored, error) {
	f.note("restore:" + from.Backup + ":" + from.Identity + from.Passphrase)
	if f.refuse != nil {
		return nil, f.refuse
	}
	return &ops.Restored{Backup: from.Backup, Time: noon.Add(-time.Hour), Entries: 3, Bytes: 4096}, nil
}

func (f *fake) Do(ctx context.Context, operation string, force bool, sink ops.Sink) (any, error) {
	if force {
		operation = "force-" + operation
	}
	f.note(operation)
	if f.run != nil {
		return nil, f.run(ctx, sink)
	}
	return nil, nil
}

func (f *fake) Doctor(ctx context.Context, each func(ops.Check)) error {
	f.note("doctor")
	for _, c := range f.checks {
		each(c)
	}
	return ctx.Err()
}

func (f *fake) Logs(ctx context.Context, source string, lines int, follow bool, out io.Writer) error {
	f.note("logs:" + source)
	io.WriteString(out, f.log)
	return f.logErr
}

func (f *fake) Open(_ context.Context, service string) (string, error) {
	f.note("open:" + service)
	return "http://127.0.0.1:4788/", nil
}

func (f *fake) Attach(ctx context.Context) (*exec.Cmd, error) {
	f.note("attach")
	if f.attach != nil {
		return f.attach(ctx)
	}
	return nil, errors.New("nothing to attach to")
}

// desired returns a lock with six components.
func desired() *lock.Lock {
	l := &lock.Lock{Schema: 1, Lima: lock.Lima{Version: "2.1.3"}, Arch: "arm64", Components: map[string]*lock.Component{}}
	for i, v := range []string{"24.17.0", "0.13.8", "2.1.332", "0.171.0", "0.19.0", "1.5.9"} {
		name := lock.Order[i]
		l.Components[name] = &lock.Component{Version: v, Source: "pkg:npm/" + name + "@" + v, Artifacts: []lock.Artifact{
			{Name: name + ".tgz", URL: "https://registry.example/" + name + ".tgz", Size: int64(i+1) * 37 << 20, Digest: "sha256:" + strings.Repeat("1a2b3c4d", 8)},
		}}
	}
	return l
}

// runningStatus returns the status of a running box: one component has drifted, one needs a login.
func runningStatus() *ops.Status {
	guest := &protocol.Status{OS: "ubuntu 26.04", Arch: "arm64", Uptime: 3*86400 + 4*3600, Now: noon.Format(time.RFC3339Nano), CPUs: 4, Load: 0.92,
		Memory: protocol.Usage{Used: 3328 << 20, Total: 8 << 30}, Root: protocol.Usage{Used: 9 << 30, Total: 30 << 30}, Data: protocol.Usage{Used: 4 << 30, Total: 50 << 30}}
	st := &ops.Status{Box: "main", State: "running", Live: true, Guest: guest, Ports: protocol.Ports{Executor: 4788, Dashboard: 9119},
		Forwards: []ops.Port{{Service: "executor", Port: 4788, State: ops.PortOK}, {Service: "dashboard", Port: 9119, State: ops.PortOK}}}
	for i, applied := range []string{"24.17.0", "0.13.8", "2.1.332", "0.169.0", "0.19.0", "1.5.9"} {
		name := lock.Order[i]
		g := protocol.ComponentStatus{Name: name, Applied: applied, State: protocol.Healthy}
		c := ops.ComponentStatus{Name: name, Applied: applied, Desired: desired().Components[name].Version, State: protocol.Healthy}
		switch name {
		case "claude":
			g.State, g.Detail = protocol.SetupRequired, "not logged in"
		case "codex":
			g.Previous = "0.168.2"
		case "hermes":
			g.Service, g.Since, g.Detail = "active", 3*86400, "gateway up"
		case "executor":
			g.Service, g.Since, g.Detail = "active", 3*86400, "2 tools"
		}
		c.State, c.Last, c.Previous, c.Service, c.Since = g.State, g.State, g.Previous, g.Service, g.Since
		if name == "codex" {
			c.Drift = "version"
		}
		c.Detail = g.Detail
		st.Components = append(st.Components, c)
	}
	return st
}

// off returns the status of a box in the given state. The box answered last three hours ago, with the answer of
// runningStatus.
func off(state string) *ops.Status {
	st := runningStatus()
	seen := noon.Add(-3 * time.Hour)
	st.Live, st.State, st.Seen, st.Forwards = false, state, &seen, nil
	for i := range st.Components {
		c := &st.Components[i]
		c.State, c.Service, c.Since = ops.NotAsked, "", 0
		if state == protocol.Stopped {
			c.State = protocol.Stopped
		}
	}
	return st
}

// withStatus returns a box that exists and has this status.
func withStatus(st *ops.Status) *fake {
	return &fake{known: Known{Name: "main", Config: "/srv/box/hermes-box.yaml", DrillDir: "/srv/home/drills/main/files", Exists: true, Ready: true, Lock: desired(),
		Machine: "4 CPUs, 8GiB of memory, a root disk of up to 30GiB and a data disk of up to 50GiB", Status: st}}
}

// noBox returns a box that was not created yet, on a machine that meets all requirements.
func noBox() *fake {
	f := withStatus(&ops.Status{Box: "main", State: "absent", Ports: protocol.Ports{Executor: 4788, Dashboard: 9119}})
	f.known.Exists, f.known.Ready = false, false
	f.checks = healthyHost()
	return f
}

// healthyHost returns the checks of create, all passed.
func healthyHost() []ops.Check {
	var all []ops.Check
	for _, c := range [][3]string{
		{"lock", "lock file", "sha256:9c1f0a77c0ffee00"}, {"platform", "platform", "darwin/arm64"}, {"lima", "Lima", "Lima 2.1.3"},
		{"virtualization", "virtualization", "Apple Virtualization.framework"}, {"ssh", "ssh", "OpenSSH"}, {"path", "state directory", "/Users/me/.hermes-box"},
		{"clock", "clock of this machine", "2026-06-15T12:00:00Z"}, {"vm-name", "VM name", "main is free"}, {"disk-name", "disk name", "main-data is free"},
		{"ports", "ports", "4788 and 9119 are free"}, {"space", "disk space", "212.4 GiB free"},
	} {
		all = append(all, ops.Check{ID: c[0], Title: c[1], Verdict: ops.Pass, Evidence: c[2]})
	}
	return all
}

// testModel returns a dashboard of f at a size, with the clock at noon and without timers.
func testModel(f *fake, w, h int) *model {
	m := newModel(context.Background(), f)
	m.now = func() time.Time { return noon }
	m.after = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	m.signer = func(_ context.Context, step string) error { f.note("login:" + step); return nil }
	m.w, m.h, m.dir = w, h, "/srv/me"
	return m
}

// drain runs a command, then the commands that Update returns for its messages, until there are none.
func drain(m *model, cmd tea.Cmd) {
	for todo := []tea.Cmd{cmd}; len(todo) > 0; todo = todo[1:] {
		if todo[0] == nil {
			continue
		}
		switch msg := todo[0]().(type) {
		case tea.BatchMsg:
			todo = append(todo, msg...)
		default:
			todo = append(todo, m.update(msg))
		}
	}
}

// press types keys and returns the command of the last one.
func press(m *model, keys ...string) tea.Cmd {
	var last tea.Cmd
	for _, k := range keys {
		last = m.update(key(k))
	}
	return last
}

// key returns the message for a key, given its name in the bindings.
func key(name string) tea.KeyPressMsg {
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "backspace": tea.KeyBackspace, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd}
	if code, ok := special[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if name == "shift+tab" {
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	}
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: []rune(rest)[0], Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// sized returns the message that Bubble Tea sends when the size of the terminal has changed.
func sized(w, h int) tea.Msg { return tea.WindowSizeMsg{Width: w, Height: h} }

// on returns a dashboard of f at 80x24, after f has answered once.
func on(f *fake) *model {
	m := testModel(f, 80, 24)
	drain(m, tea.Batch(m.readFiles(), m.ask()))
	return m
}

// screen returns the frame without colours.
func screen(m *model) string { return ansi.Strip(m.frame()) }
