package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"hermes-box/guest"
	"hermes-box/guest/protocol"
)

// action does a verb and returns its result; nil if it has written stdout itself.
type action func(ctx context.Context, g *guest.Guest, stdin io.Reader, stdout io.Writer) (any, error)

// verb is an action and whether it needs root. Without root it is refused before anything is read or done.
type verb struct {
	root bool
	do   action
}

var verbs = map[string]verb{
	protocol.VerbHello: asAnyone(func(ctx context.Context, g *guest.Guest, _ io.Reader, _ io.Writer) (any, error) {
		return g.Hello()
	}),
	protocol.VerbStatus: asAnyone(func(ctx context.Context, g *guest.Guest, _ io.Reader, _ io.Writer) (any, error) {
		return g.Status(ctx)
	}),
	protocol.VerbReceive: asRoot(func(ctx context.Context, g *guest.Guest, in io.Reader, _ io.Writer) (any, error) {
		return g.Objects().Receive(ctx, in)
	}),
	protocol.VerbBootstrap: asRoot(func(ctx context.Context, g *guest.Guest, in io.Reader, _ io.Writer) (any, error) {
		var ask protocol.Bootstrap
		if err := decode(in, &ask); err != nil {
			return nil, err
		}
		return g.Bootstrap(ctx, ask)
	}),
	protocol.VerbApply: asRoot(func(ctx context.Context, g *guest.Guest, in io.Reader, _ io.Writer) (any, error) {
		var tx protocol.Transaction
		if err := decode(in, &tx); err != nil {
			return nil, err
		}
		if err := g.CheckData(ctx); err != nil {
			return nil, err
		}
		return g.Apply(ctx, tx)
	}),
	protocol.VerbRecover: asRoot(func(ctx context.Context, g *guest.Guest, _ io.Reader, _ io.Writer) (any, error) {
		// The services require this verb to succeed: without their own data disk they do not start.
		if err := g.CheckData(ctx); err != nil {
			return nil, err
		}
		return g.Recover(ctx)
	}),
	protocol.VerbStart: asRoot(func(ctx context.Context, g *guest.Guest, _ io.Reader, _ io.Writer) (any, error) {
		return g.Start(ctx)
	}),
	protocol.VerbQuiesce: asRoot(func(ctx context.Context, g *guest.Guest, _ io.Reader, _ io.Writer) (any, error) {
		return g.Quiesce(ctx)
	}),
	protocol.VerbVersions: asRoot(func(ctx context.Context, g *guest.Guest, _ io.Reader, _ io.Writer) (any, error) {
		return g.Versions(ctx)
	}),
	protocol.VerbSignedIn: asRoot(func(ctx context.Context, g *guest.Guest, _ io.Reader, _ io.Writer) (any, error) {
		return g.Login().SignedIn(ctx)
	}),
	protocol.VerbLinkExecutor: asRoot(func(ctx context.Context, g *guest.Guest, in io.Reader, _ io.Writer) (any, error) {
		var ask protocol.ExecutorLink
		if err := decode(in, &ask); err != nil {
			return nil, err
		}
		if err := g.CheckData(ctx); err != nil {
			return nil, err
		}
		return g.Login().LinkExecutor(ctx, ask)
	}),
	protocol.VerbTakeUpHermes: asRoot(func(ctx context.Context, g *guest.Guest, _ io.Reader, _ io.Writer) (any, error) {
		if err := g.CheckData(ctx); err != nil {
			return nil, err
		}
		return g.Login().TakeUpHermes(ctx)
	}),
	protocol.VerbLogs: asRoot(func(ctx context.Context, g *guest.Guest, in io.Reader, out io.Writer) (any, error) {
		var ask protocol.LogRequest
		if err := decode(in, &ask); err != nil {
			return nil, err
		}
		return nil, g.Logs(ctx, ask, out)
	}),
}

func asRoot(do action) verb { return verb{root: true, do: do} }

func asAnyone(do action) verb { return verb{do: do} }

// maxRequest is far larger than any transaction: six components with a hundred wheels take some 50 KiB.
const maxRequest = 8 << 20

// decode reads the one JSON object of a request. It refuses unknown fields, a second value and an incomplete one: host and
// helper are built together.
func decode(in io.Reader, into any) error {
	invalid := func(err error) error {
		return &protocol.Error{Code: "invalid_input", Message: fmt.Sprintf("the request cannot be read: %v", err)}
	}
	limited := &io.LimitedReader{R: in, N: maxRequest}
	dec := json.NewDecoder(limited)
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		if limited.N <= 0 {
			err = fmt.Errorf("it is larger than %d bytes", maxRequest)
		}
		return invalid(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalid(errors.New("there is more after the object"))
	}
	return nil
}
