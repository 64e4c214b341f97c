package ops

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol"
	"hermes-box/ops/fault"
)

// SignIn is one step of signing in: what it is for, how it is done, and whether it is. Exactly one of Command, URL
// and Setup is set.
type SignIn struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Why     string   `json:"why"`
	Ask     string   `json:"ask,omitempty"`     // what a person types to see the token that is asked for
	Command []string `json:"command,omitempty"` // to be run in a terminal of the box: SignInCommand
	URL     string   `json:"url,omitempty"`     // to be opened in a browser of this machine
	Setup   string   `json:"setup,omitempty"`   // what `hermes-box setup` asks for
	Type    string   `json:"type"`              // what a person types on this machine to do it
	Done    bool     `json:"done"`
	Detail  string   `json:"detail,omitempty"` // how that shows, or what is in the way
}

// signIn is a row of the table: probe finds its state in what the box answered.
type signIn struct {
	id, title, why string
	ask            string
	command        []string
	portal         string // as Box.URL calls it
	setup          string
	takesUp        bool // Hermes has to be restarted to take up all of what was set up
	probe          func(inside map[string]protocol.SignIn) (done bool, detail string)
}

// signIns are the steps, in the order in which they make sense.
var signIns = []signIn{
	{
		id: "claude", title: "Claude Code", command: []string{"claude", "auth", "login"}, probe: inside(protocol.SignInClaude),
		why: "Claude Code works with your Anthropic account. It shows an address: sign in there, then paste the code you get.",
	}, {
		id: "codex", title: "Codex", command: []string{"codex", "login", "--device-auth"}, probe: inside(protocol.SignInCodex),
		why: "Codex works with your ChatGPT account. It shows an address and a code to type there.",
	}, {
		id: "hermes", title: "Hermes Agent", command: []string{"hermes", "setup"}, takesUp: true, probe: inside(protocol.SignInHermes),
		why: "Hermes works with an account or a key of a provider of models; its own setup asks for that, and for the chats it shall answer in. The box runs its gateway already: where a service is offered, say no.",
	}, {
		id: "model", title: "Hermes's model", command: []string{"hermes", "model"}, takesUp: true, probe: inside(protocol.SignInModel),
		why: "Hermes answers with the model that is chosen here.",
	}, {
		id: "executor", title: "Executor's portal", portal: "executor", probe: inside(protocol.SignInExecutor),
		why: "Executor calls for the agents what you connect in its portal. The portal asks for Executor's token.", ask: ShowToken,
	}, {
		id: "token", title: "Executor's token for Hermes", setup: "executor", probe: inside(protocol.SignInToken),
		why: "Hermes uses Executor with this token. It is tried first, then kept in Hermes's own environment, and Hermes is restarted.", ask: ShowToken,
	},
}

// ShowToken is what a person types to see the token of Executor; this program never prints it itself.
const ShowToken = "hermes-box exec -- sudo cat " + protocol.DataDir + "/secrets/executor-token.env"

// inside is the probe of a step whose state the box itself tells.
func inside(name string) func(map[string]protocol.SignIn) (bool, string) {
	return func(told map[string]protocol.SignIn) (bool, string) {
		s, ok := told[name]
		if !ok {
			return false, "the box does not tell"
		}
		return s.Done, s.Detail
	}
}

// SignInIDs are the steps that SignIns tells of, in order.
func SignInIDs() (ids []string) {
	for _, s := range signIns {
		ids = append(ids, s.id)
	}
	return ids
}

// SignIns asks a running box which steps are done: one round trip, in which the agents are asked themselves. Nothing
// is remembered and nothing is changed, but that the helper of another version of this program is replaced.
func (b *Box) SignIns(ctx context.Context) ([]SignIn, error) {
	if err := b.running(ctx); err != nil {
		return nil, err
	}
	var told protocol.SignedIn
	if err := b.askUpgrading(ctx, protocol.VerbSignedIn, nil, &told, nil); err != nil {
		return nil, err
	}
	byName := map[string]protocol.SignIn{}
	for _, s := range told.SignIns {
		byName[s.Name] = s
	}
	var steps []SignIn
	for _, row := range signIns {
		s := SignIn{ID: row.id, Title: row.title, Why: row.why, Ask: row.ask, Command: row.command, Setup: row.setup}
		s.Type = row.typed()
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

// typed is what a person types to do a step without the walkthrough.
func (s signIn) typed() string {
	switch {
	case s.portal != "":
		return "hermes-box open " + s.portal
	case s.setup != "":
		return "hermes-box setup " + s.setup
	}
	return "hermes-box exec -t -- " + shellescape.QuoteCommand(s.command)
}

// TypeSignIn is what a person types on this machine to do a step; empty where none is called that.
func TypeSignIn(id string) string {
	for _, s := range signIns {
		if s.id == id {
			return s.typed()
		}
	}
	return ""
}

// SignIn asks for one step alone.
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

// KnownSignIn refuses what is no step.
func KnownSignIn(id string) error {
	if ids := SignInIDs(); !slices.Contains(ids, id) {
		return fault.New(fault.InvalidInput, "nothing to sign in to is called %q", id).
			Hint("hermes-box login %s", strings.Join(ids, "|"))
	}
	return nil
}

// SignInCommand is the command that hands this terminal to the program of a step with a Command, in the box. It is
// not started: the caller sets Stdin, Stdout and Stderr to the terminal. It is refused while the clock of the box is wrong.
func (b *Box) SignInCommand(ctx context.Context, s SignIn) (*exec.Cmd, error) {
	if err := b.running(ctx); err != nil {
		return nil, err
	}
	if err := b.checkSkew(ctx); err != nil {
		return nil, err
	}
	return b.Lima.Attach(ctx, b.Record.Instance, terminfo(ctx, os.Getenv("TERM")), s.Command...)
}

// SignInEnded does what is left to do when the program of a step has ended: Hermes reads some of what its setup writes
// only when it starts, and is restarted if there is any of that.
func (b *Box) SignInEnded(ctx context.Context, s SignIn, sink Sink) error {
	row := slices.IndexFunc(signIns, func(row signIn) bool { return row.id == s.ID })
	if row < 0 || !signIns[row].takesUp {
		return nil
	}
	return b.change(ctx, "login", sink, func(context.Context) (Plan, error) {
		return Plan{Steps: []Step{{ID: "hermes", Title: "have hermes take up its setup", Do: func(ctx context.Context, p *Progress) error {
			return b.askUpgrading(ctx, protocol.VerbTakeUpHermes, nil, &protocol.TakenUp{}, relay(p))
		}}}}, nil
	})
}
