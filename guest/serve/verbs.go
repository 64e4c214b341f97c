package serve

import (
	"context"
	"fmt"
	"io"

	"hermes-box/guest"
	"hermes-box/guest/attach"
	"hermes-box/guest/protocol"
)

// input is the data that the host sends to a verb.
type input struct {
	request io.Reader // one JSON object, for a verb that takes one
	stdin   io.Reader // bytes, for a verb that reads them
	stdout  io.Writer // for a verb that writes bytes
}

// action runs a verb and returns its result; nil if the verb has written its answer to stdout.
type action func(ctx context.Context, g *guest.Guest, in input) (any, error)

// verb is an action, and whether it needs root. Without root it is refused before it reads or does anything.
type verb struct {
	root bool
	do   action
}

var verbs = map[string]verb{
	protocol.VerbHello: asAnyone(func(ctx context.Context, g *guest.Guest, _ input) (any, error) {
		return g.Hello()
	}),
	protocol.VerbStatus: asAnyone(func(ctx context.Context, g *guest.Guest, _ input) (any, error) {
		return g.Status(ctx)
	}),
	protocol.VerbSession: asAnyone(func(_ context.Context, _ *guest.Guest, in input) (any, error) {
		var ask protocol.SessionRequest
		if err := decode(in.request, &ask); err != nil {
			return nil, err
		}
		return protocol.Session{Attach: attach.Command(ask.Term)}, nil
	}),
	protocol.VerbReceive: asRoot(func(ctx context.Context, g *guest.Guest, in input) (any, error) {
		return g.Objects().Receive(ctx, in.stdin)
	}),
	protocol.VerbBootstrap: asRoot(func(ctx context.Context, g *guest.Guest, in input) (any, error) {
		var ask protocol.Bootstrap
		if err := decode(in.request, &ask); err != nil {
			return nil, err
		}
		return g.Bootstrap(ctx, ask)
	}),
	protocol.VerbApply: asRoot(func(ctx context.Context, g *guest.Guest, in input) (any, error) {
		var tx protocol.Transaction
		if err := decode(in.request, &tx); err != nil {
			return nil, err
		}
		if err := g.CheckData(ctx); err != nil {
			return nil, err
		}
		return g.Apply(ctx, tx)
	}),
	protocol.VerbRecover: asRoot(func(ctx context.Context, g *guest.Guest, _ input) (any, error) {
		// The services require the recovery unit, so they do not start on a wrong data disk.
		if err := g.CheckData(ctx); err != nil {
			return nil, err
		}
		return g.Recover(ctx)
	}),
	protocol.VerbStart: asRoot(func(ctx context.Context, g *guest.Guest, _ input) (any, error) {
		return g.Start(ctx)
	}),
	protocol.VerbQuiesce: asRoot(func(ctx context.Context, g *guest.Guest, _ input) (any, error) {
		return g.Quiesce(ctx)
	}),
	protocol.VerbVersions: asRoot(func(ctx context.Context, g *guest.Guest, _ input) (any, error) {
		return g.Versions(ctx)
	}),
	protocol.VerbSignedIn: asRoot(func(ctx context.Context, g *guest.Guest, _ input) (any, error) {
		return g.Login().SignedIn(ctx)
	}),
	protocol.VerbLinkExecutor: asRoot(func(ctx context.Context, g *guest.Guest, in input) (any, error) {
		var ask protocol.ExecutorLink
		if err := decode(in.request, &ask); err != nil {
			return nil, err
		}
		if err := g.CheckData(ctx); err != nil {
			return nil, err
		}
		return g.Login().LinkExecutor(ctx, ask)
	}),
	protocol.VerbTakeUpHermes: asRoot(func(ctx context.Context, g *guest.Guest, _ input) (any, error) {
		if err := g.CheckData(ctx); err != nil {
			return nil, err
		}
		return g.Login().TakeUpHermes(ctx)
	}),
	protocol.VerbBackup: asRoot(func(ctx context.Context, g *guest.Guest, in input) (any, error) {
		var ask protocol.BackupRequest
		if err := decode(in.request, &ask); err != nil {
			return nil, err
		}
		return g.Backup(ctx, ask, in.stdin, in.stdout)
	}),
	protocol.VerbUnpack: asRoot(func(ctx context.Context, g *guest.Guest, in input) (any, error) {
		return g.Unpack(ctx, in.stdin)
	}),
	protocol.VerbLogs: asRoot(func(ctx context.Context, g *guest.Guest, in input) (any, error) {
		var ask protocol.LogRequest
		if err := decode(in.request, &ask); err != nil {
			return nil, err
		}
		return nil, g.Logs(ctx, ask, in.stdout)
	}),
}

func asRoot(do action) verb { return verb{root: true, do: do} }

func asAnyone(do action) verb { return verb{do: do} }

// maxRequest is the largest size of a request that decode accepts. A transaction of six components with a hundred
// wheels in all takes some 50 KiB.
const maxRequest = 8 << 20

// decode reads the one JSON object of a request. It refuses an incomplete object and any text after the object. It also
// refuses unknown fields, since host and helper are built together.
func decode(in io.Reader, into any) error {
	data, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	if err == nil && len(data) > maxRequest {
		err = fmt.Errorf("it is larger than %d bytes", maxRequest)
	}
	if err == nil {
		err = protocol.Decode(data, into)
	}
	if err != nil {
		return invalid(err)
	}
	return nil
}

func invalid(err error) *protocol.Error {
	return &protocol.Error{Code: "invalid_input", Message: fmt.Sprintf("invalid request: %v", err)}
}
