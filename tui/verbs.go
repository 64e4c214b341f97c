package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// verb is an operation that the dashboard offers. A new one is a row of the table here, and no more.
type verb struct {
	binding
	done  string // what to say when it went well, after the name of the box
	next  string // and what to do then
	undo  string // what a cancel does to what it has done so far
	ask   func(m *model) *question
	begin func(ctx context.Context, b Box, sink ops.Sink) error
}

func verbs() []verb {
	return []verb{
		{
			binding: binding{id: "create", keys: []string{"c"}, label: "create", in: onFirst | onDashboard,
				effect: "make the box: data disk, VM and all software, proven healthy",
				words:  "make new install begin setup init", why: whyNotCreate},
			done:  "is running",
			next:  "w signs in (◦), a works in it",
			undo:  "Exactly what it has made so far is removed again. What was downloaded whole stays in the cache.",
			begin: func(ctx context.Context, b Box, sink ops.Sink) error { return b.Create(ctx, sink) },
		},
		{
			binding: binding{id: "start", keys: []string{"s"}, label: "start", rank: 3, in: withBox,
				effect: "boot the box and start what is applied to it; installs nothing",
				words:  "boot run up power on launch", why: whyNotStart},
			done:  "is running",
			next:  "enter goes on; a then works in it",
			undo:  "A VM that is still booting is stopped again. Nothing in the box is lost.",
			begin: func(ctx context.Context, b Box, sink ops.Sink) error { return b.Start(ctx, sink) },
		},
		{
			binding: binding{id: "stop", keys: []string{"S"}, label: "stop", rank: 9, in: withBox,
				effect: "stop the services, sync the data disk, stop the VM",
				words:  "halt shutdown power off down", why: whyNotStop},
			done: "is stopped",
			next: "enter goes on; s starts it again",
			undo: "Services that were stopped are started again.",
			ask: func(m *model) *question {
				return confirm("Stop "+m.name()+"?", "What runs in it ends; everything on its disks stays.")
			},
			begin: func(ctx context.Context, b Box, sink ops.Sink) error { return b.Stop(ctx, false, sink) },
		},
		{
			binding: binding{id: "force-stop", keys: []string{"K"}, label: "stop by force", in: withBox,
				effect: "cut the VM off without asking it: for a box that no longer answers",
				words:  "kill hang hung broken", why: whyNotStop},
			done: "is stopped",
			next: "enter goes on; s starts it again",
			undo: "There is nothing to undo.",
			ask: func(m *model) *question {
				return confirm("Cut "+m.name()+" off?", "The box is not asked: what it has not written to its disks yet is lost. "+
					"For a box that no longer answers.")
			},
			begin: func(ctx context.Context, b Box, sink ops.Sink) error { return b.Stop(ctx, true, sink) },
		},
		{
			binding: binding{id: "destroy", keys: []string{"X"}, label: "destroy", in: onDashboard,
				effect: "remove the box with all that is in it; asks for its name",
				words:  "delete remove erase wipe purge uninstall", why: whyNotDestroy},
			done:  "is gone",
			next:  "enter goes on; what was downloaded is kept",
			undo:  "What is removed already stays removed; destroying it again ends it.",
			ask:   func(m *model) *question { return m.byName() },
			begin: func(ctx context.Context, b Box, sink ops.Sink) error { return b.Destroy(ctx, sink) },
		},
	}
}

// bindings of the verbs: each asks first, if it has to.
func verbBindings() (all []binding) {
	for _, v := range verbs() {
		b, v := v.binding, v
		b.do = func(m *model) tea.Cmd {
			if v.ask == nil {
				return m.begin(v)
			}
			m.dialog = v.ask(m)
			m.dialog.yes = func(m *model) tea.Cmd { return m.begin(v) }
			return nil
		}
		all = append(all, b)
	}
	return all
}

// whyBusy is the reason that every change shares: one at a time.
func whyBusy(m *model) string {
	if m.running() {
		return m.op.verb.id + " is under way: o shows it"
	}
	if busy := m.status().Busy; strings.HasSuffix(busy, "under way") {
		return "another hermes-box is at work: " + busy
	}
	return ""
}

func whyNotCreate(m *model) string {
	switch {
	case whyBusy(m) != "":
		return whyBusy(m)
	case m.known.Err != nil:
		return "there is no config yet"
	case m.known.Exists && m.known.Ready:
		return "the box exists"
	case m.known.Lock == nil:
		return "there is no lock of what to install yet"
	}
	return ""
}

func whyNotStart(m *model) string {
	switch {
	case whyBusy(m) != "":
		return whyBusy(m)
	case !m.known.Exists:
		return "there is no box yet"
	case !m.known.Ready:
		return "the box was never finished: c makes it anew"
	case m.status().State == "running":
		return "the box runs already"
	case m.status().State == "starting":
		return "it is booting"
	}
	return ""
}

func whyNotStop(m *model) string {
	switch {
	case whyBusy(m) != "":
		return whyBusy(m)
	case m.status().State == "stopped" || m.status().State == "absent":
		return "the box does not run"
	}
	return ""
}

func whyNotDestroy(m *model) string {
	if !m.known.Exists {
		return "there is no box"
	}
	return whyBusy(m)
}
