package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// verb is an operation as the dashboard offers it.
type verb struct {
	id     string // of its binding
	name   string // of the operation
	force  bool
	label  string // for the footer
	effect string
	words  string // other words for it
	ask    string // what a person is told before they agree; empty: nobody is asked
	title  string // of that question
	typed  bool   // a person has to type the name of the box
	cancel string // what a cancel does to what was done so far
	done   string // what to say when it went well, after the name of the box
	next   string // what to do then
	why    func(m *model) string
	keys   []string
	rank   int
	in     place
}

func verbs() []verb {
	return []verb{
		{id: "create", name: "create", keys: []string{"c"}, label: "create", in: onFirst | onDashboard,
			effect: "make the box: data disk, VM and all software, proven healthy",
			words:  "make new install begin setup init", why: whyNotCreate,
			done: "is ready", next: "w sign in   a work in it",
			cancel: "Exactly what it has made so far is removed again. What was downloaded whole stays in the cache."},
		{id: "start", name: "start", keys: []string{"s"}, label: "start", rank: 3, in: withBox,
			effect: "boot the box and start what is applied to it; installs nothing",
			words:  "boot run up power on launch", why: whyNotStart,
			done: "is running", next: "enter back to dashboard   a work in it",
			cancel: "A VM that is still booting is stopped again. Nothing in the box is lost."},
		{id: "stop", name: "stop", keys: []string{"S"}, label: "stop", rank: 9, in: withBox,
			effect: "stop the services, sync the data disk, stop the VM",
			words:  "halt shutdown power off down", why: whyNotStop,
			done: "is stopped", next: "enter back to dashboard   s start it",
			cancel: "Services that were stopped are started again.",
			title:  "Stop", ask: "What runs in it ends; everything on its disks stays."},
		{id: "force-stop", name: "stop", force: true, keys: []string{"K"}, label: "force stop", in: withBox,
			effect: "cut the VM off without asking it: for a box that no longer answers",
			words:  "kill hang hung broken", why: whyNotStop,
			done: "is stopped", next: "enter back to dashboard   s start it",
			cancel: "There is nothing to undo.",
			title:  "Force stop", ask: "Unsaved data may be lost: the box is not asked to write it. For a box that no longer answers."},
		{id: "destroy", name: "destroy", force: true, keys: []string{"X"}, label: "destroy", in: onDashboard,
			effect: "remove the box: its VM and its data disk; asks for its name",
			words:  "delete remove erase wipe purge uninstall", why: whyNotDestroy,
			done: "is gone; what was downloaded is kept", next: "enter back to dashboard",
			cancel: "What is removed already stays removed; destroying it again finishes it.",
			title:  "Destroy", typed: true, ask: "Lost: the VM and the data disk with everything in it: work, logins, the agents' memory.\n" +
				"Kept: the config, the lock, downloaded software, logs.\nThere is no verified backup of it."},
	}
}

// run runs the operation on a box.
func (v verb) run(ctx context.Context, b Box, sink ops.Sink) error {
	return b.Do(ctx, v.name, v.force, sink)
}

// doneText is what to say when it went well.
func (v verb) doneText(box string) string {
	if v.done == "" {
		return box + ": " + v.name + " finished"
	}
	return box + " " + v.done
}

// question is what a person is asked first; nil if they are not.
func (v verb) question(box string) *question {
	switch {
	case v.typed:
		q := confirm(v.title+" "+box, v.ask+"\n\nType the name of the box to "+v.name+" it.")
		q.Yes, q.No = v.name, "keep it"
		q.TypeName(box)
		return q
	case v.ask != "":
		return confirm(v.title+" "+box+"?", v.ask)
	}
	return nil
}

// verbOf returns the verb of an operation that another process does; it may be one that is not offered here.
func verbOf(name string) verb {
	for _, v := range verbs() {
		if v.name == name {
			return v
		}
	}
	return verb{name: name, next: "enter back to dashboard"}
}

// verbBindings are the keys of the operations.
func verbBindings() (all []binding) {
	for _, v := range verbs() {
		all = append(all, binding{id: v.id, keys: v.keys, label: v.label, effect: v.effect, words: v.words, in: v.in, rank: v.rank,
			why: v.why, do: func(m *model) tea.Cmd { return m.askFirst(v) }})
	}
	return all
}

// askFirst begins an operation, after asking if it has to be asked for.
func (m *model) askFirst(v verb) tea.Cmd {
	q := v.question(m.name())
	if q == nil {
		return m.begin(v)
	}
	q.yes = func(m *model) tea.Cmd { return m.begin(v) }
	m.dialog = q
	return nil
}

func whyNotCreate(m *model) string {
	switch {
	case m.busy() != "":
		return m.busy()
	case m.known.Err != nil:
		return "there is no config yet"
	case m.known.Exists && m.known.Ready:
		return "the box exists"
	case m.known.Lock == nil:
		return "there is no lock yet that says what to install"
	}
	return ""
}

func whyNotStart(m *model) string {
	switch {
	case m.busy() != "":
		return m.busy()
	case !m.known.Exists:
		return "there is no box yet"
	case !m.known.Ready:
		return "its create was not finished: c creates it anew"
	case m.status().State == "running":
		return "the box is running already"
	case m.status().State == "starting":
		return "the box is booting"
	}
	return ""
}

func whyNotStop(m *model) string {
	switch {
	case m.busy() != "":
		return m.busy()
	case m.status().State == "stopped" || m.status().State == "absent":
		return "the box is not running"
	}
	return ""
}

func whyNotDestroy(m *model) string {
	if !m.known.Exists {
		return "there is no box"
	}
	return m.busy()
}
