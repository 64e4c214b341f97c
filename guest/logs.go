package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// maxLogLines is the maximum of LogRequest.Lines.
const maxLogLines = 100_000

// logUnits are the units of each source of a LogRequest.
var logUnits = map[string][]string{
	"hermes":   {layout.HermesUnit, "hermes-dashboard.service"},
	"executor": {layout.ExecutorUnit},
	"recovery": {layout.RecoveryUnit},
}

// Logs writes the last ask.Lines lines of a source's log to out, as plain text. With Follow it continues until ctx
// ends, and then returns nil. It needs root.
func (g *Guest) Logs(ctx context.Context, ask protocol.LogRequest, out io.Writer) error {
	units, ok := logUnits[ask.Source]
	if !ok {
		return &protocol.Error{Code: "invalid_input", Message: fmt.Sprintf("no log of %q", ask.Source),
			Hint: "sources are hermes, executor and recovery"}
	}
	if ask.Lines < 0 || ask.Lines > maxLogLines {
		return &protocol.Error{Code: "invalid_input", Message: fmt.Sprintf("lines: %d; accepted: 0 to %d", ask.Lines, maxLogLines)}
	}
	args := []string{"--no-pager", "--quiet", "--output", "short-iso", "--lines", strconv.Itoa(ask.Lines)}
	for _, u := range units {
		args = append(args, "--unit", u)
	}
	if ask.Follow {
		args = append(args, "--follow")
	}
	_, err := g.Machine.Run(ctx, machine.Cmd{Path: "journalctl", Args: args, Stdout: out, Timeout: -1})
	if ask.Follow && ctx.Err() != nil {
		return nil
	}
	var exit *machine.ExitError
	if errors.As(err, &exit) && exit.Output != "" {
		return fmt.Errorf("%w: %s", err, exit.Output)
	}
	return err
}
