package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
	"hermes-box/internal/race"
	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/ops/lock"
	"hermes-box/ops/suspect"
	"hermes-box/tui/widget"
)

var (
	update = flag.Bool("update", false, "rewrite the golden files and the keys in the README")
	every  = flag.Bool("every", false, "try every view at every size up to 130x50")
)

// scene is a view in a state.
type scene struct {
	name string
	make func(w, h int) *model
}

// scenes returns every view, once for each state in which it looks different.
func scenes() []scene {
	on := func(f *fake, after ...func(m *model)) func(w, h int) *model {
		return func(w, h int) *model {
			m := testModel(f, w, h)
			m.seen, m.load = noon, []float64{0.1, 0.2, 0.6, 0.8, 0.35, 0.2, 0.23}
			if m.known.Status != nil && m.known.Status.Live {
				m.live = m.known.Status
			}
			for _, f := range after {
				f(m)
			}
			return m
		}
	}
	keys := func(names ...string) func(m *model) { return func(m *model) { press(m, names...) } }
	checks := func(all []ops.Check) func(m *model) {
		return func(m *model) { m.first.checks.all, m.doctor.checks.all = all, all }
	}
	logged := func(source string, lines ...string) func(m *model) {
		return func(m *model) { m.view, m.logs.source, m.logs.lines = onLogs, source, lines }
	}
	noConfig := &fake{known: Known{Err: fault.New(fault.InvalidInput, "no config file hermes-box.yaml (from the current directory): no such file or directory").
		Hint("printf 'schema: 1\\nname: main\\n' > hermes-box.yaml")}}
	degraded := off("degraded")
	degraded.Cause = "the VM runs on without its host agent, which has died; stop it and start it again"
	troubled := runningStatus()
	troubled.Skew, troubled.Guest.OOMKills = -3600, 1
	troubled.Guest.Root.Used = 29 << 30
	troubled.Forwards[0].State, troubled.Forwards[0].Holder = ops.PortTaken, "pid 812 (python3 -m http.server)"
	busy := off("starting")
	busy.Busy = "create is under way"
	busy.Underway = &ops.Underway{Operation: "create", Running: true, PID: 1 << 22, Started: noon.Add(-time.Minute), Step: "boot"}
	return []scene{
		{"first", on(noBox(), checks(healthyHost()))},
		{"first-checking", on(noBox(), checks(healthyHost()[:3]), func(m *model) { m.first.checks.feed = newFeed[ops.Check](nil) })},
		{"first-missing", on(noBox(), checks(lackingHost()))},
		{"first-no-config", on(noConfig)},
		{"first-backups", on(noBoxWith(someBackups()...), checks(healthyHost()))},
		{"first-backups-no-lock", on(noLockWith(someBackups()...), checks(append(healthyHost()[1:],
			ops.Check{ID: "lock", Title: "lock file", Verdict: ops.Fail, Evidence: "no lock file /srv/box/hermes-box.lock", Repair: "copy a reviewed hermes-box.lock there"})))},
		{"backups-no-box", on(noBoxWith(someBackups()...), keys("B"))},
		{"restore", on(noBoxWith(someBackups()...), keys("B", "r"))},
		{"restored", on(withBackups(someBackups()...), restoredBox)},
		{"restore-file", on(noBox(), keys("i"))},
		{"restore-passphrase", on(noBox(), keys("i"), func(m *model) {
			m.askNeeded(neededMsg{asked: m.dialog, file: "main.hermes-box", passphrase: true})
			press(m, "a", "b", "c")
		})},
		{"files", on(withBackups(someBackups()...), keys("B"), filesOpen, keys("down"))},
		{"files-search", on(withBackups(someBackups()...), keys("B"), filesOpen, keys("/", "a", "p", "i"))},
		{"get-files", on(withBackups(someBackups()...), keys("B", "f"))},
		{"get-files-refused", on(withBackups(someBackups()...), keys("B", "f"), func(m *model) {
			m.refuse(m.dialog, fault.New(fault.NotFound, "%q is not in the backup %s", "home/agent/workspace/aip", m.known.Backups[0].ID).
				Hint("hermes-box backup show %s", m.known.Backups[0].ID))
		})},
		{"dashboard", on(withStatus(runningStatus()))},
		{"dashboard-unsaved", on(withBackups())},
		{"dashboard-keyless", on(keyless(runningStatus()))},
		{"dashboard-selected", on(withStatus(runningStatus()), keys("down", "down", "down"))},
		{"dashboard-stopped", on(withStatus(off("stopped")))},
		{"dashboard-unasked", on(withStatus(off("running")))},
		{"dashboard-degraded", on(withStatus(degraded))},
		{"dashboard-troubled", on(withStatus(troubled))},
		{"dashboard-busy", on(withStatus(busy))},
		{"dashboard-unknown", on(withStatus(&ops.Status{Box: "main", State: "starting", Cause: "it is booting", Ports: protocol.Ports{Executor: 4788, Dashboard: 9119}}))},
		{"dashboard-hanging", on(withStatus(runningStatus()), func(m *model) {
			m.asking, m.asked, m.seen = true, noon.Add(-time.Minute), noon.Add(-time.Minute)
		})},
		{"operation", on(noBox(), creating(9, nil))},
		{"operation-fetch", on(noBox(), creating(5, nil))},
		{"operation-log", on(noBox(), creating(9, nil), keys("l"))},
		{"operation-done", on(withStatus(runningStatus()), creating(13, nil))},
		{"operation-failed", on(noBox(), creating(9, fault.New(fault.HealthFailed, "codex 0.171.0: smoke failed: codex --version says nothing").
			Hint("to see all of it: hermes-box logs operations").Detail("output", "thread 'main' panicked at src/main.rs:12\nnote: run with RUST_BACKTRACE=1\nexit status 101")))},
		{"operation-canceled", on(noBox(), creating(9, fault.New(fault.Interrupted, "create was interrupted")), func(m *model) {
			m.op.canceled, m.op.steps[10].state, m.op.grid["codex"]["smoke"] = true, stepCanceled, protocol.Undone
		})},
		{"operation-watched", on(withStatus(busy), creating(9, nil), func(m *model) { m.op.watched, m.own = true, nil })},
		{"operation-start", on(withStatus(runningStatus()), started)},
		{"operation-background", on(noBox(), creating(9, nil), keys("esc"))},
		{"cancel", on(noBox(), creating(9, nil), keys("x"))},
		{"leave", on(noBox(), creating(9, nil), keys("q"))},
		{"details", on(withStatus(runningStatus()), keys("down", "down", "down", "enter"))},
		{"details-log", on(withStatus(runningStatus()), keys("down", "down", "down", "down", "enter"), func(m *model) { m.logs.lines = manyLines(60) })},
		{"drift", on(withStatus(runningStatus()), keys("v"))},
		{"logs", on(withStatus(runningStatus()), logged("hermes", manyLines(60)...))},
		{"logs-search", on(withStatus(runningStatus()), logged("hermes", manyLines(60)...), keys("/", "4", "2", "enter"))},
		{"logs-off", on(withStatus(off("stopped")), logged("hermes"), func(m *model) {
			m.logs.err = fault.New(fault.PreflightFailed, "box %q is stopped", "main").Hint("hermes-box start")
		})},
		{"logs-commands", on(withStatus(runningStatus()), logged("commands", readable(`{"time":"2026-06-15T11:59:58Z","command":"limactl list --format json main","seconds":0.11,"status":0}`),
			readable(`{"time":"2026-06-15T11:59:59Z","command":"ssh -F /Users/me/.hermes-box/lima/main/ssh.config lima-main -- <46 bytes>","inside":"helper status","seconds":0.16,"status":255,"stderr":"Connection refused"}`)))},
		{"doctor", on(withStatus(runningStatus()), checks(lackingHost()), func(m *model) { m.view, m.doctor.checks.list.At = onDoctor, 2 })},
		{"doctor-checking", on(withStatus(runningStatus()), checks(healthyHost()[:2]), func(m *model) { m.view, m.doctor.checks.feed = onDoctor, newFeed[ops.Check](nil) })},
		{"backups", on(withBackups(someBackups()...), keys("B"))},
		{"backups-failed", on(withBackups(someBackups()...), keys("B", "down", "down"))},
		{"backups-none", on(withBackups(), keys("B"))},
		{"backups-verifying", on(withBackups(someBackups()...), keys("B"), verifying)},
		{"backups-delete", on(withBackups(someBackups()...), keys("B", "down", "D"))},
		{"backup", on(withBackups(someBackups()...), backingUp(false))},
		{"backup-done", on(withBackups(someBackups()...), backingUp(true))},
		{"stop", on(withStatus(runningStatus()), keys("S"))},
		{"destroy-saved", on(withBackups(someBackups()...), keys("X"))},
		{"destroy", on(withStatus(runningStatus()), keys("X"))},
		{"destroy-wrong", on(withStatus(runningStatus()), keys("X", "m", "i", "a", "n", "enter"))},
		{"help", on(withStatus(runningStatus()), keys("?"))},
		{"palette", on(withStatus(runningStatus()), keys(":", "d", "e", "l"))},
		{"disabled", on(withStatus(runningStatus()), keys("s"))},
		{"error", on(withStatus(runningStatus()), func(m *model) {
			m.fail(&failure{err: fault.New(fault.ExternalFailed, "the session ended with status 255").Hint("a attaches again; d finds out what is wrong"),
				what: "attach", output: "kex_exchange_identification: read: Connection reset by peer\nConnection reset by 127.0.0.1 port 60022"})
		})},
	}
}

// lackingHost returns the checks of a machine that does not meet the requirements of a box.
func lackingHost() []ops.Check {
	all := healthyHost()
	all[2] = ops.Check{ID: "lima", Title: "Lima", Verdict: ops.Fail, Evidence: "limactl is not installed", Repair: `install Lima 2.1.3: see README, "Lima"`}
	all[3] = ops.Check{ID: "virtualization", Title: "virtualization", Verdict: ops.Warn, Evidence: "software emulation, slow: /dev/kvm is not there", Repair: "give this user access to a working /dev/kvm"}
	all[7] = ops.Check{ID: "vm-name", Title: "VM name", Verdict: ops.Fail, Evidence: "limactl is not installed", Repair: `install Lima: see README, "Lima"`}
	all[9] = ops.Check{ID: "ports", Title: "ports", Verdict: ops.Fail, Evidence: "port 4788 is held by ssh (pid 4242)", Repair: "stop what holds it, or set another port in /srv/box/hermes-box.yaml"}
	return all
}

func manyLines(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("Jun 15 11:%02d:%02d main hermes[812]: gateway: message %d from telegram handled, 3 tool calls, 1.2 s, nothing else to say about it that would fit on one line", i/60, i%60, i))
	}
	return all
}

// creating shows a create after its first steps. at is their number: 5 while it downloads, 9 while it installs, 13 when
// it is done. If err is set, the installation has failed.
func creating(at int, err error) func(m *model) {
	plan := []ops.StepInfo{{ID: "preflight", Title: "check this machine"}, {ID: "claim", Title: "claim the name"}, {ID: "image", Title: "fetch the OS image"},
		{ID: "disk", Title: "make the data disk"}, {ID: "vm", Title: "make the VM"}, {ID: "boot", Title: "boot the VM"}, {ID: "fetch", Title: "fetch the software", Phase: ops.PhaseVerify},
		{ID: "helper", Title: "put the helper into the box"}, {ID: "bootstrap", Title: "prepare the guest"}, {ID: "upload", Title: "upload the software", Phase: protocol.PhaseUpload},
		{ID: "install", Title: "install and check the software", Software: true}, {ID: "verify", Title: "check the box from outside"}, {ID: "finish", Title: "record the box"}}
	return func(m *model) {
		began := noon.Add(-4 * time.Minute)
		o := &operation{verb: verbs()[0], box: "main", begun: began, feed: newFeed(mergeEvents), done: make(chan struct{}), stop: func() {}}
		m.op, m.view = o, onOperation
		o.apply(ops.Event{Time: began, Kind: ops.Planned, Steps: plan})
		start := func(i int, t time.Time) {
			o.apply(ops.Event{Time: t, Kind: ops.Started, Step: plan[i].ID, Title: plan[i].Title})
		}
		now := began
		for i := range min(at, len(plan)) {
			start(i, now)
			took := time.Duration(i*i) * 1300 * time.Millisecond
			now = now.Add(took)
			if i == 4 {
				o.apply(ops.Event{Time: now, Kind: ops.Warning, Step: "vm", Line: "no hardware virtualization here: the VM is emulated in software and slow"})
			}
			o.apply(ops.Event{Time: now, Kind: ops.Done, Step: plan[i].ID, Title: plan[i].Title, Seconds: took.Seconds()})
		}
		switch at {
		case 5:
			start(5, now)
			start(6, now)
			for i := range 10 {
				o.apply(ops.Event{Time: now.Add(time.Duration(i) * time.Second), Kind: ops.Bytes, Step: "fetch", Done: int64(i) * 12 << 20, Total: 777 << 20})
			}
		case 9:
			start(9, now)
			o.apply(ops.Event{Time: now, Kind: ops.Done, Step: "upload", Title: "upload the software", Seconds: 83})
			start(10, now)
			for _, name := range lock.Order[:3] {
				for _, phase := range phases[2:] {
					o.apply(ops.Event{Time: now, Kind: ops.Phase, Step: "install", Component: name, Phase: phase, State: protocol.Done})
				}
			}
			o.apply(ops.Event{Time: now, Kind: ops.Phase, Step: "install", Component: "codex", Phase: "stage", State: protocol.Done})
			o.apply(ops.Event{Time: now, Kind: ops.Phase, Step: "install", Component: "codex", Phase: "smoke", State: protocol.Started})
		}
		if err != nil {
			o.apply(ops.Event{Time: now, Kind: ops.Phase, Step: "install", Component: "codex", Phase: "smoke", State: protocol.Failed})
			o.apply(ops.Event{Time: now, Kind: ops.Failed, Step: "install", Title: plan[10].Title, Error: err.Error(), Seconds: 31})
			for _, i := range []int{4, 3, 1} {
				o.apply(ops.Event{Time: now, Kind: ops.Undoing, Step: plan[i].ID, Title: plan[i].Title})
				o.apply(ops.Event{Time: now, Kind: ops.Undone, Step: plan[i].ID, Title: plan[i].Title})
			}
		}
		m.own = o
		if err != nil || at >= len(plan) {
			m.own = nil
			o.finish(err, noon)
			o.grace = widget.Grace{}
		}
	}
}

// verifying shows the list of backups while the newest one is verified.
func verifying(m *model) {
	o := &operation{verb: verb{name: "verification", backup: m.known.Backups[0].ID}, box: "main", begun: noon, stop: func() {}}
	m.op, m.own = o, o
	o.apply(ops.Event{Time: noon.Add(-4 * time.Second), Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "verify", Title: "read the backup"}}})
	o.apply(ops.Event{Time: noon.Add(-4 * time.Second), Kind: ops.Started, Step: "verify"})
	for i := range 3 {
		o.apply(ops.Event{Time: noon.Add(time.Duration(i) * time.Second), Kind: ops.Bytes, Step: "verify", Done: int64(i+1) << 28, Total: 3 << 30})
	}
}

// backingUp shows a backup that copies the data, or one that is done.
func backingUp(done bool) func(m *model) {
	return func(m *model) {
		o := &operation{verb: verbOf("backup"), box: "main", begun: noon.Add(-8 * time.Second), stop: func() {}, about: m.bytesOf(verbOf("backup").Operation)}
		m.op, m.own, m.view = o, o, onOperation
		plan := []ops.StepInfo{{ID: "key", Title: "open the backups"}, {ID: "copy", Title: "copy the data disk, and read the copy back"}, {ID: "keep", Title: "delete old backups"}}
		o.apply(ops.Event{Time: noon, Kind: ops.Planned, Steps: plan})
		o.apply(ops.Event{Time: noon, Kind: ops.Started, Step: "key", Title: "open the backups"})
		o.apply(ops.Event{Time: noon, Kind: ops.Done, Step: "key", Title: "open the backups", Seconds: 1})
		o.apply(ops.Event{Time: noon.Add(-7 * time.Second), Kind: ops.Started, Step: "copy", Title: "copy the data disk, and read the copy back"})
		for i := range 8 {
			o.apply(ops.Event{Time: noon.Add(time.Duration(i-7) * time.Second), Kind: ops.Bytes, Step: "copy", Done: int64(i) << 27})
		}
		if !done {
			return
		}
		o.apply(ops.Event{Time: noon, Kind: ops.Done, Step: "copy", Title: "copy the data disk, and read the copy back", Seconds: 7})
		o.apply(ops.Event{Time: noon, Kind: ops.Started, Step: "keep", Title: "delete old backups"})
		o.apply(ops.Event{Time: noon, Kind: ops.Done, Step: "keep", Title: "delete old backups"})
		made := &ops.BackupMade{Envelope: envelope(0, ""), Frozen: 0.8}
		made.Problems = 2
		m.own, o.result = nil, made
		o.finish(nil, noon)
		o.grace = widget.Grace{}
	}
}

// filesOpen opens the list of files of the selected backup.
func filesOpen(m *model) {
	press(m, "enter")
	m.update(filesMsg{m.files.of.ID, &ops.BackupShown{Files: someFiles()}, nil})
}

// restoredBox shows a restore that is done, with everything that its result may say.
func restoredBox(m *model) {
	o := &operation{verb: verbOf("restore"), box: "main", begun: noon.Add(-5 * time.Minute), stop: func() {}}
	m.op, m.view = o, onOperation
	o.apply(ops.Event{Time: noon, Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "data", Title: "unpack the data"}}})
	o.apply(ops.Event{Time: noon, Kind: ops.Started, Step: "data", Title: "unpack the data"})
	o.apply(ops.Event{Time: noon, Kind: ops.Done, Step: "data", Title: "unpack the data", Seconds: 100})
	o.result = &ops.Restored{Time: noon.Add(-2 * time.Hour), Entries: 12034, Bytes: 3 << 30, Missing: 2, LockFile: "/srv/box/hermes-box.lock",
		Lost:     []protocol.LostPart{{Path: []byte("home/agent/x"), Part: "extended attribute user.note"}},
		Suspects: []suspect.Entry{{Path: "home/agent/.claude.json", Server: "helper", Why: []string{"its command is a shell"}}}}
	o.finish(nil, noon)
	o.grace = widget.Grace{}
}

// started shows a start that has ended.
func started(m *model) {
	o := &operation{verb: verbs()[1], box: "main", begun: noon.Add(-8 * time.Second), feed: newFeed(mergeEvents), done: make(chan struct{}), stop: func() {}}
	m.op, m.view = o, onOperation
	plan := []ops.StepInfo{{ID: "ports", Title: "check the ports"}, {ID: "boot", Title: "boot the VM"}, {ID: "verify", Title: "check the box"}}
	o.apply(ops.Event{Time: noon, Kind: ops.Planned, Steps: plan})
	for _, s := range plan {
		o.apply(ops.Event{Time: noon, Kind: ops.Started, Step: s.ID, Title: s.Title})
		o.apply(ops.Event{Time: noon, Kind: ops.Done, Step: s.ID, Title: s.Title, Seconds: 2})
	}
	for _, c := range runningStatus().Components {
		o.apply(ops.Event{Time: noon, Kind: ops.Phase, Step: "verify", Component: c.Name, Phase: protocol.PhaseHealth, State: c.Last})
	}
	o.finish(nil, noon)
	o.grace = widget.Grace{}
}

// Every scene has the text of its golden file. When a golden file changes, make the screenshots and look at them.
func TestGolden(t *testing.T) {
	for _, size := range [][2]int{{60, 16}, {80, 24}, {120, 40}} {
		for _, s := range scenes() {
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				lines := strings.Split(ansi.Strip(s.make(size[0], size[1]).frame()), "\n")
				for i := range lines {
					lines[i] = strings.TrimRight(lines[i], " ")
				}
				got := strings.Join(lines, "\n") + "\n"
				path := filepath.Join("testdata", "golden", name+".txt")
				if *update {
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("differs from %s; go test ./tui -update rewrites it. Got:\n%s", path, got)
				}
			})
		}
	}
}

// No size makes the dashboard panic, and no frame is larger than the terminal. With -every each view is tried at each
// size up to 130x50. Otherwise, each size is tried with some view, and each view with every fourth width and height, the
// smallest sizes, and the sizes where the layout changes. The race detector makes this slow, so fewer are tried then.
func TestSizes(t *testing.T) {
	step := 4 * race.Every(4)
	edge := func(n int, edges ...int) bool {
		return slices.ContainsFunc(edges, func(e int) bool { return n >= e-1 && n <= e+1 })
	}
	for i, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			m := s.make(80, 24)
			for w := 0; w <= 200; w++ {
				for h := 0; h <= 80; h++ {
					chosen := w%step == i%step && h%step == i/step%step || *every && w <= 130 && h <= 50
					if !chosen && (w > 3 || h > 3) && !(edge(w, 60, 76, 110) && edge(h, 16, 20, 24)) {
						continue
					}
					m.update(sized(w, h))
					lines := strings.Split(m.frame(), "\n")
					if len(lines) > max(h, 1) {
						t.Fatalf("%dx%d: %d lines", w, h, len(lines))
					}
					for _, line := range lines {
						if n := ansi.StringWidth(line); n > w {
							t.Fatalf("%dx%d: a line of %d cells: %q", w, h, n, ansi.Strip(line))
						}
					}
				}
			}
		})
	}
}
