package tui

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// underwayElsewhere returns a box that another process is creating, with these events in its log.
func underwayElsewhere(t *testing.T, events ...ops.Event) *fake {
	t.Helper()
	f := busyBox()
	f.known.Status.Underway = &ops.Underway{Operation: "create", Running: true, PID: 1 << 22, Started: noon}
	before := ops.Event{Time: noon.Add(-time.Hour), Kind: ops.Finished, Error: "an operation of an hour ago"}
	var log strings.Builder
	enc := json.NewEncoder(&log)
	for _, e := range append([]ops.Event{before}, events...) {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	f.log = log.String()
	return f
}

// o shows the operation of another process, and its outcome.
func TestWatchAnotherProcess(t *testing.T) {
	plan := ops.Event{Operation: "create", Time: noon, Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "vm", Title: "make the VM"}, {ID: "boot", Title: "boot the VM"}}}
	started := ops.Event{Operation: "create", Time: noon, Kind: ops.Started, Step: "vm", Title: "make the VM"}
	done := ops.Event{Operation: "create", Time: noon, Kind: ops.Done, Step: "vm", Title: "make the VM", Seconds: 2}
	for _, c := range []struct {
		name   string
		events []ops.Event
		want   []string
	}{
		{"succeeds", []ops.Event{plan, started, done, {Operation: "create", Time: noon, Kind: ops.Finished}}, []string{"create done", "✓ make the VM", "main is ready"}},
		{"fails", []ops.Event{plan, started, {Operation: "create", Time: noon, Kind: ops.Failed, Step: "vm", Error: "no room"}, {Operation: "create", Time: noon, Kind: ops.Finished, Error: "no room is left"}},
			[]string{"create failed", "✗ make the VM", "no room is left"}},
		{"is killed", []ops.Event{plan, started}, []string{"create failed", "create was cut off: its process (pid 4194304) is gone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := underwayElsewhere(t, c.events...)
			m := on(f)
			if s := screen(m); !strings.Contains(s, "o operation") || !strings.Contains(s, "1 watch the create") || !strings.Contains(s, "(pid 4194304)") {
				t.Errorf("the operation of the other process is not announced:\n%s", s)
			}
			press(m, "o")
			if m.view != onOperation || (m.own != nil) {
				t.Fatal("o does not show the operation, or shows it as our own")
			}
			if press(m, "x"); m.dialog != nil || !strings.Contains(m.note, "ctrl-c there") {
				t.Errorf("x: note %q", m.note)
			}
			settle(t, m)
			s := screen(m)
			for _, want := range c.want {
				if !strings.Contains(s, want) {
					t.Errorf("the screen does not show %q:\n%s", want, s)
				}
			}
			if f.did("create") {
				t.Error("the dashboard creates the box too")
			}
		})
	}
}

// While the operation of another process is watched, esc stops watching, and q quits without a question.
func TestWatchIsLeft(t *testing.T) {
	f := underwayElsewhere(t)
	m := on(f)
	press(m, "o", "esc")
	if m.op != nil || m.view != onDashboard {
		t.Error("esc does not end watching")
	}
	press(m, "o", "q")
	if m.dialog != nil || m.ctx.Err() == nil {
		t.Error("q asks a question, or does not quit")
	}
	m.tasks.wait(time.Second)
}

// If another process runs a stop and then a start, the view of the stop ends with the outcome of the stop, and o then
// shows the start.
func TestWatchOneOfTwoOperations(t *testing.T) {
	event := func(operation string, kind ops.Kind, steps ...ops.StepInfo) ops.Event {
		at := map[string]time.Time{"stop": noon, "start": noon.Add(time.Minute)}[operation]
		return ops.Event{Operation: operation, Time: at, Kind: kind, Steps: steps}
	}
	halt, boot := ops.StepInfo{ID: "halt", Title: "stop the VM"}, ops.StepInfo{ID: "boot", Title: "boot the VM"}
	finished := []ops.Event{event("stop", ops.Planned, halt), event("stop", ops.Finished), event("start", ops.Planned, boot)}
	killed := []ops.Event{event("stop", ops.Planned, halt), event("start", ops.Planned, boot)}
	missed := []ops.Event{event("start", ops.Planned, boot)}
	for want, events := range map[string][]ops.Event{"main is stopped": finished, "stop was cut off": killed, "stop has ended, and another operation has begun": missed} {
		f := underwayElsewhere(t, events...)
		f.known.Ready = true
		f.known.Status.Underway.Operation = "stop"
		m := on(f)
		press(m, "o")
		settle(t, m)
		s := screen(m)
		if !strings.Contains(s, want) || strings.Contains(s, boot.Title) {
			t.Errorf("no %q, or steps of the start are shown:\n%s", want, s)
		}
		first := m.op
		f.known.Status.Underway = &ops.Underway{Operation: "start", Running: true, PID: 1 << 22, Started: noon.Add(time.Minute)}
		m.op.grace = widget.Grace{}
		press(m, "o")
		if m.op == first || m.op == nil || m.op.verb.name != "start" {
			t.Fatalf("o does not show the start: %+v", m.op)
		}
		settle(t, m)
		if s := screen(m); strings.Contains(s, halt.Title) || !strings.Contains(s, boot.Title) {
			t.Errorf("a step of the stop is shown, or the step of the start is not:\n%s", s)
		}
	}
}

// If an operation ends while its log is not read, its last events are still shown, each once.
func TestWatchEndsWithTheLastEvents(t *testing.T) {
	step := ops.StepInfo{ID: "boot", Title: "boot the VM"}
	event := func(kind ops.Kind) ops.Event {
		return ops.Event{Operation: "create", Time: noon, Kind: kind, Step: step.ID, Title: step.Title, Steps: []ops.StepInfo{step}}
	}
	begun := underwayElsewhere(t, event(ops.Planned), event(ops.Started))
	whole := underwayElsewhere(t, event(ops.Planned), event(ops.Started), event(ops.Done), event(ops.Finished)).log
	b := &endsUnseen{fake: begun, whole: whole}
	m := on(begun)
	m.box = b
	press(m, "o")
	settle(t, m)
	if s := screen(m); !strings.Contains(s, "✓ boot the VM") || !strings.Contains(s, "main is ready") || len(m.op.log) != 2 {
		t.Errorf("%q\n%s", m.op.log, s)
	}
}

// endsUnseen is a box whose followed log shows only the beginning of an operation.
type endsUnseen struct {
	*fake
	whole string
}

func (b *endsUnseen) Logs(ctx context.Context, source string, lines int, follow bool, out io.Writer) error {
	if !follow {
		_, err := io.WriteString(out, b.whole)
		return err
	}
	return b.fake.Logs(ctx, source, lines, follow, out)
}
