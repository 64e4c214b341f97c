package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// verb is an operation that the dashboard runs. For an operation of ops.Operations, everything but the key comes from
// there.
type verb struct {
	ops.Operation
	id     string // ID of its binding; empty if the dashboard does not offer it
	name   string // in titles and sentences: "stop", "force stop"
	force  bool
	effect string
	words  string
	ask    string
	cancel string
	done   string    // the text after success; empty: from the table
	backup string    // the ID of the backup that it is about; empty: none
	form   *question // the question in which its texts were typed; nil if there was none
	// do runs the operation and returns its result; nil: Box.Do.
	do func(ctx context.Context, b Box, sink ops.Sink) (any, error)
}

// verbKeys are the keys of operations, and their places in the footer. An operation without a key is only in the
// palette.
var verbKeys = map[string]struct {
	key  string
	rank int
}{
	"create": {"c", 0}, "start": {"s", 3}, "stop": {"S", 10}, "force-stop": {"K", 0}, "restart": {"R", 0}, "backup": {"b", 0}, "destroy": {"X", 0}, "force-destroy": {"F", 0},
}

// verbs returns the operations that the dashboard can run. An operation whose --force has an effect of its own is
// offered with and without it.
func verbs() (all []verb) {
	for _, o := range ops.Operations() {
		if !o.Runnable() {
			continue
		}
		v := verb{Operation: o, id: o.Name, name: o.Name, effect: o.Effect, words: o.Words, ask: o.Ask, cancel: o.Cancel}
		if o.Destructive {
			v.effect += "; asks for its name"
		}
		all = append(all, v)
		if f := o.Force; f != nil && f.Effect != "" {
			if o.Destructive {
				f.Effect += "; asks for its name"
			}
			all = append(all, verb{Operation: o, id: "force-" + o.Name, name: "force " + o.Name, force: true,
				effect: f.Effect, words: f.Words, ask: f.Ask, cancel: f.Cancel})
		}
	}
	return all
}

// verbOf returns the verb of the operation with that name. The verb has no id if the dashboard does not offer it.
func verbOf(operation string) verb {
	all := verbs()
	if i := slices.IndexFunc(all, func(v verb) bool { return v.Name == operation }); i >= 0 {
		return all[i]
	}
	o, _ := ops.OperationNamed(operation)
	return verb{Operation: o, name: operation, cancel: o.Cancel}
}

// run runs the operation on a box and returns its result.
func (v verb) run(ctx context.Context, b Box, sink ops.Sink) (any, error) {
	if v.do != nil {
		return v.do(ctx, b, sink)
	}
	return b.Do(ctx, v.Name, v.force, sink)
}

// doneText returns the text after success.
func (v verb) doneText(box string) string {
	switch {
	case v.done != "":
		return v.done
	case v.Done == "":
		return box + ": " + v.name + " finished"
	}
	return box + " " + v.Done
}

// next draws the suggestions after success, each with its key.
func (v verb) next(p page) (text string) {
	for _, advice := range v.Next {
		if key := keyOfVerb(advice.Verb); key != "" {
			text += "   " + p.Key.Render(key) + " " + advice.To
		}
	}
	return text
}

// keyOfVerb returns the key for a verb of the command line; empty if there is none.
func keyOfVerb(name string) string {
	if other, ok := map[string]string{"login": "sign-in", "ssh": "attach"}[name]; ok {
		name = other
	}
	all := slices.Concat(viewBindings(), verbBindings())
	if i := slices.IndexFunc(all, func(b binding) bool { return b.id == name }); i >= 0 {
		return all[i].firstKey()
	}
	return ""
}

// question returns the question before the operation; nil if there is none. more is appended to the text of a question
// that asks for the name of the box.
func (v verb) question(box, more string) *question {
	title := strings.ToUpper(v.name[:1]) + v.name[1:] + " " + box
	switch {
	case v.Destructive:
		q := confirm(title, v.ask+more+"\n\nType the name of the box to "+v.name+" it.")
		q.Yes, q.No = v.name, "keep it"
		q.TypeName(box)
		return q
	case v.ask != "":
		return confirm(title+"?", v.ask)
	}
	return nil
}

// verbBindings returns the bindings of the operations.
func verbBindings() (all []binding) {
	for _, v := range verbs() {
		b := binding{id: v.id, label: v.name, effect: v.effect, words: v.words, why: whyNotNow(v), in: placesOf(v.Needs),
			do: func(m *model) tea.Cmd { return m.askFirst(v) }}
		if k, ok := verbKeys[v.id]; ok {
			b.keys, b.rank = []string{k.key}, k.rank
		}
		all = append(all, b)
	}
	return all
}

// askFirst begins an operation, after its question if it has one.
func (m *model) askFirst(v verb) tea.Cmd {
	more := ""
	if v.Destructive {
		more = m.newestText()
	}
	q := v.question(m.name(), more)
	if q == nil {
		return m.begin(v)
	}
	q.yes = func(m *model) tea.Cmd { return m.begin(v) }
	m.dialog = q
	return nil
}

// placesOf returns the views in which an operation with that need is offered.
func placesOf(need ops.Need) place {
	switch need {
	case ops.NeedsNoBox:
		return onFirst | onDashboard
	case ops.NeedsBox:
		return onDashboard
	}
	return withBox
}

// whyNotNow returns a function that returns why an operation is refused now; empty if it is not.
func whyNotNow(v verb) func(*model) string {
	switch v.Needs {
	case ops.NeedsNoBox:
		return whyNotCreate
	case ops.NeedsStopped:
		return whyNotStart
	case ops.NeedsRunning:
		if v.Name == "stop" || v.Name == "restart" {
			return whyNotStop
		}
		return func(m *model) string { return or(m.busy(), m.whyOff()) }
	}
	return whyNotDestroy
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

// whyOff returns why the box cannot answer, and what to do about it; empty if it may.
func (m *model) whyOff() string {
	switch state := m.status().State; {
	case !m.known.Exists:
		return "there is no box"
	case state == "stopped":
		return "the box is stopped: s starts it"
	case state == "starting":
		return "the box is booting: wait a moment"
	case state == "absent":
		return "the VM of the box is gone: d shows what is left"
	}
	return ""
}

func whyNotDestroy(m *model) string {
	if !m.known.Exists {
		return "there is no box"
	}
	return m.busy()
}
