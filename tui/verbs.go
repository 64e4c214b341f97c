package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"hermes-box/ops"
)

// verb is an operation as the dashboard offers it.
type verb struct {
	binding
	operation string // of the table of package ops
	force     bool
	done      string // what to say when it went well, after the name of the box
	next      string // what to do then
	cancel    string // what a cancel does to what it has done so far
	ask       func(m *model) *question
}

// offer is where the dashboard offers an operation. All else that it says of one is in the table of package ops.
type offer struct {
	operation string
	key       string
	in        place
	rank      int    // in the footer, as in binding
	forced    string // label of the forced variant; empty: it is not forced
}

// offers are the operations that the dashboard offers: a new one is a row here.
var offers = []offer{
	{operation: "create", key: "c", in: onFirst | onDashboard},
	{operation: "start", key: "s", in: withBox, rank: 3},
	{operation: "stop", key: "S", in: withBox, rank: 9},
	{operation: "stop", key: "K", in: withBox, forced: "force stop"},
	{operation: "restart", key: "R", in: withBox},
	{operation: "destroy", key: "X", in: onDashboard},
}

func verbs() (all []verb) {
	for _, f := range offers {
		o, _ := ops.OperationNamed(f.operation)
		all = append(all, f.verb(o))
	}
	return all
}

func (f offer) verb(o ops.Operation) verb {
	v := verb{operation: o.Name, done: o.Done, next: nextKeys(o), cancel: o.Cancel,
		binding: binding{id: o.Name, keys: []string{f.key}, label: o.Name, rank: f.rank, in: f.in, effect: o.Effect, words: o.Words, why: whyNot(o.Needs)}}
	text := o.Ask
	switch {
	case f.forced != "":
		v.force, v.id, v.label = true, strings.ReplaceAll(f.forced, " ", "-"), f.forced
		v.effect, v.words, v.cancel, text = o.Force.Effect, o.Force.Words, o.Force.Cancel, o.Force.Ask
	case o.Destructive:
		v.force = true // its name was typed out
		v.effect += "; asks for its name"
		v.ask = func(m *model) *question { return m.byName(o) }
		return v
	}
	if text != "" {
		v.ask = func(m *model) *question {
			return confirm(strings.ToUpper(v.label[:1])+v.label[1:]+" "+m.name()+"?", text)
		}
	}
	return v
}

// hasVerb tells whether the dashboard offers an operation.
func hasVerb(operation string) bool {
	return slices.ContainsFunc(offers, func(f offer) bool { return f.operation == operation })
}

// keyOfVerb names the bindings that do what a verb of the command line does, where they are called otherwise.
var keyOfVerb = map[string]string{"login": "sign-in", "ssh": "attach"}

// nextKeys are the keys for what to do after an operation.
func nextKeys(o ops.Operation) string {
	var parts []string
	for _, next := range o.Next {
		id := next.Verb
		if other, ok := keyOfVerb[id]; ok {
			id = other
		}
		for _, f := range offers {
			if f.operation == id && f.forced == "" {
				parts = append(parts, f.key+" "+next.To)
			}
		}
		if i := slices.IndexFunc(viewBindings(), func(b binding) bool { return b.id == id }); i >= 0 {
			parts = append(parts, viewBindings()[i].keys[0]+" "+next.To)
		}
	}
	return strings.Join(parts, ", ")
}

// whyNot tells for a need why the box does not meet it.
func whyNot(need ops.Need) func(m *model) string {
	switch need {
	case ops.NeedsNoBox:
		return whyNotCreate
	case ops.NeedsStopped:
		return whyNotStart
	case ops.NeedsRunning:
		return whyNotStop
	}
	return whyNotDestroy
}

// verbBindings are the bindings of the verbs: each asks first, if it has to.
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
	if st := m.status(); st.Underway != nil && st.Underway.Running {
		return "another hermes-box is at work: " + st.Busy
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
