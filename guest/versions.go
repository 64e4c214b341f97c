package guest

import (
	"context"

	"hermes-box/guest/protocol"
)

// Versions runs each applied release and has it say its version, as smoke did before it was activated. Nothing is
// changed; no state of the user is read.
func (g *Guest) Versions(ctx context.Context) (protocol.Versions, error) {
	answers := protocol.Versions{Components: []protocol.VersionAnswer{}}
	unlock, err := g.exclusive(ctx) // a release must not go while it is asked
	if err != nil {
		return answers, err
	}
	defer unlock()
	applied, err := g.AppliedState()
	if err != nil {
		return answers, err
	}
	for _, c := range components() {
		a, ok := applied[c.name()]
		if !ok {
			continue
		}
		answer := protocol.VersionAnswer{Name: a.Name, Applied: a.Version}
		if err := g.smokeCurrent(ctx, a.Name); err != nil {
			answer.Problem = err.Error()
		}
		answers.Components = append(answers.Components, answer)
	}
	return answers, ctx.Err()
}
