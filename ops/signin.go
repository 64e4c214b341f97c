package ops

import (
	"context"
	"os/exec"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol"
	"hermes-box/ops/fault"
)

// SignIn is one step of signing in: its purpose, how to do it, and whether it is done. Exactly one of Command, URL and
// Setup is set.
type SignIn struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Why     string   `json:"why"`
	Ask     string   `json:"ask,omitempty"`     // command that shows the token to enter
	Command []string `json:"command,omitempty"` // to run on a terminal in the box; see SignInCommand
	URL     string   `json:"url,omitempty"`     // to open in a browser of this machine
	Setup   string   `json:"setup,omitempty"`   // argument of hermes-box setup
	Type    string   `json:"type"`              // command on this machine that does it
	Done    bool     `json:"done"`
	Detail  string   `json:"detail,omitempty"` // how Done was found out, or what is missing
}

// signIn is a row of the table. probe finds its state in the answer of the box.
type signIn struct {
	id, title, why string
	ask            string
	command        []string
	portal         string // name of a service for Box.URL
	setup          string
	restarts       bool // Hermes has to be restarted to use what was set up
	probe          func(inside map[string]protocol.SignIn) (done bool, detail string)
}

// signIns are the steps, in the recommended order.
var signIns = []signIn{
	{
		id: "claude", title: "Claude Code", command: []string{"claude", "auth", "login"}, probe: inside(protocol.SignInClaude),
		why: "Claude Code works with your Anthropic account. It shows an address: sign in there and paste the code you get.",
	}, {
		id: "codex", title: "Codex", command: []string{"codex", "login", "--device-auth"}, probe: inside(protocol.SignInCodex),
		why: "Codex works with your ChatGPT account. It shows an address and a code to enter there.",
	}, {
		id: "hermes", title: "Hermes Agent", command: []string{"hermes", "setup"}, restarts: true, probe: inside(protocol.SignInHermes),
		why: "Hermes needs an account or an API key of a model provider; its setup asks for that, and for the chats to answer in. The box already runs its gateway: if the setup offers to install a service, say no.",
	}, {
		id: "model", title: "Hermes's model", command: []string{"hermes", "model"}, restarts: true, probe: inside(protocol.SignInModel),
		why: "Choose the model that Hermes uses.",
	}, {
		id: "executor", title: "Executor's portal", portal: "executor", probe: inside(protocol.SignInExecutor),
		why: "Executor gives the agents the tools that you connect in its portal. The portal asks for Executor's token.", ask: ShowToken,
	}, {
		id: "token", title: "Executor's token for Hermes", setup: "executor", probe: inside(protocol.SignInToken),
		why: "Hermes uses Executor with this token. It is tried first, then stored in Hermes's environment, and Hermes is restarted.", ask: ShowToken,
	},
}

// ShowToken is the command that shows the token of Executor. This program never prints the token itself.
const ShowToken = "hermes-box exec -- sudo cat " + protocol.DataDir + "/secrets/executor-token.env"

// inside returns a probe for a step whose state is in the answer of the box under that name.
func inside(name string) func(map[string]protocol.SignIn) (bool, string) {
	return func(answer map[string]protocol.SignIn) (bool, string) {
		s, ok := answer[name]
		if !ok {
			return false, "the box did not report it"
		}
		return s.Done, s.Detail
	}
}

// SignInIDs returns the names of the steps, in order.
func SignInIDs() (ids []string) {
	for _, s := range signIns {
		ids = append(ids, s.id)
	}
	return ids
}

// SignIns asks a running box which steps are done; the box asks the agents. The answer is not stored. Nothing is changed,
// except that the helper of another version of this program is replaced.
func (b *Box) SignIns(ctx context.Context) ([]SignIn, error) {
	if err := b.reachable(ctx); err != nil {
		return nil, err
	}
	var answer protocol.SignedIn
	if err := b.askUpgrading(ctx, protocol.VerbSignedIn, nil, &answer, nil); err != nil {
		return nil, b.unreached(ctx, err)
	}
	byName := map[string]protocol.SignIn{}
	for _, s := range answer.SignIns {
		byName[s.Name] = s
	}
	var steps []SignIn
	for _, row := range signIns {
		s := SignIn{ID: row.id, Title: row.title, Why: row.why, Ask: row.ask, Command: row.command, Setup: row.setup}
		s.Type = row.commandLine()
		if row.portal != "" {
			url, err := b.URL(row.portal)
			if err != nil {
				return nil, err
			}
			s.URL = url
		}
		s.Done, s.Detail = row.probe(byName)
		steps = append(steps, s)
	}
	return steps, nil
}

// commandLine returns the command that does a step without the walkthrough.
func (s signIn) commandLine() string {
	switch {
	case s.portal != "":
		return "hermes-box open " + s.portal
	case s.setup != "":
		return "hermes-box setup " + s.setup
	}
	return "hermes-box exec -t -- " + shellescape.QuoteCommand(s.command)
}

// TypeSignIn returns the command on this machine that does a step; empty if there is no such step.
func TypeSignIn(id string) string {
	for _, s := range signIns {
		if s.id == id {
			return s.commandLine()
		}
	}
	return ""
}

// SignIn returns the state of one step.
func (b *Box) SignIn(ctx context.Context, id string) (SignIn, error) {
	if err := KnownSignIn(id); err != nil {
		return SignIn{}, err
	}
	all, err := b.SignIns(ctx)
	if err != nil {
		return SignIn{}, err
	}
	return all[slices.IndexFunc(all, func(s SignIn) bool { return s.ID == id })], nil
}

// KnownSignIn returns an error if there is no such step.
func KnownSignIn(id string) error {
	if ids := SignInIDs(); !slices.Contains(ids, id) {
		return fault.New(fault.InvalidInput, "there is no sign-in step %q", id).
			Hint("hermes-box login %s", strings.Join(ids, "|"))
	}
	return nil
}

// SignInCommand returns a command that runs s.Command in the box, on this terminal. It is not started: the caller sets
// Stdin, Stdout and Stderr. While the clock of the box is wrong, SignInCommand returns an error.
func (b *Box) SignInCommand(ctx context.Context, s SignIn) (*exec.Cmd, error) {
	if err := b.reachable(ctx); err != nil {
		return nil, err
	}
	if err := b.checkSkew(ctx); err != nil {
		return nil, err
	}
	c, err := b.Lima.Attach(ctx, b.Record.Instance, thisTerminal(ctx), s.Command...)
	return c, b.unreached(ctx, err)
}

// SignInEnded finishes a step after its program has ended: Hermes reads some of its setup only when it starts, and is
// restarted if that has changed.
func (b *Box) SignInEnded(ctx context.Context, s SignIn, sink Sink) error {
	row := slices.IndexFunc(signIns, func(row signIn) bool { return row.id == s.ID })
	if row < 0 || !signIns[row].restarts {
		return nil
	}
	return b.change(ctx, "login", false, sink, func(context.Context) (Plan, error) {
		return Plan{Steps: []Step{{ID: "hermes", Title: "make Hermes read its new setup", Do: func(ctx context.Context, p *Progress) error {
			return b.askUpgrading(ctx, protocol.VerbTakeUpHermes, nil, &protocol.TakenUp{}, relay(p))
		}}}}, nil
	})
}
