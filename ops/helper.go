package ops

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"

	"hermes-box/guest/protocol"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
)

// ensureHelper puts the helper this program carries into the box, unless that very one is there already.
func (b *Box) ensureHelper(ctx context.Context) error {
	helper, err := b.Helper(runtime.GOARCH) // the guest has the host's
	if err != nil {
		return err
	}
	sum := sha256.Sum256(helper)
	digest := hex.EncodeToString(sum[:])
	var hello protocol.Hello
	if err := b.ask(ctx, protocol.VerbHello, nil, &hello, nil); err == nil && hello.Helper == "sha256:"+digest {
		return nil
	} else if ctx.Err() != nil {
		return ctx.Err()
	}
	var stderr tail
	err = b.Lima.Exec(ctx, b.Record.Instance, ssh.Exec{
		Args:   []string{"sudo", "-n", "sh", "-c", putHelper, "sh", digest, protocol.HelperPath},
		Stdin:  bytes.NewReader(helper),
		Stderr: &stderr,
	})
	if err != nil {
		return fmt.Errorf("put the helper into the box: %w: %s", err, lastLines(stderr.String(), 3))
	}
	if err := b.ask(ctx, protocol.VerbHello, nil, &hello, nil); err != nil {
		return err
	}
	if hello.Protocol != protocol.Version {
		return fault.New(fault.IntegrityFailed, "the helper in the box speaks protocol %d, this program %d", hello.Protocol, protocol.Version).
			Hint("hermes-box stop, then hermes-box start")
	}
	return nil
}

// askNew is ask for a verb that the helper of an older version of this program may not know: such a one is replaced.
func (b *Box) askNew(ctx context.Context, verb string, request, result any, on func(protocol.Event)) error {
	err := b.ask(ctx, verb, request, result, on)
	var exit *ssh.ExitError
	if !errors.As(err, &exit) || exit.Status != 2 { // what a call that is none ends with
		return err
	}
	if err := b.ensureHelper(ctx); err != nil {
		return err
	}
	return b.ask(ctx, verb, request, result, on)
}

// putHelper checks what came over the wire before it gets the name that is run.
const putHelper = `set -eu
mkdir -p "${2%/*}"
trap 'rm -f "$2.new"' EXIT
cat >"$2.new"
echo "$1  $2.new" | sha256sum -c --status
chmod 0755 "$2.new"
sync "$2.new"
mv -f "$2.new" "$2"`
