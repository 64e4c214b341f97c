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

// ensureHelper puts the helper that this program carries into the box, unless it is there already, and returns its
// answer to hello. To replace the helper it takes the box's lock, unless the caller has it.
func (b *Box) ensureHelper(ctx context.Context) (*protocol.Hello, error) {
	helper, err := b.Helper(runtime.GOARCH) // the guest has the architecture of the host
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(helper)
	digest := hex.EncodeToString(sum[:])
	var hello protocol.Hello
	if err := b.ask(ctx, protocol.VerbHello, nil, &hello, nil); err == nil && hello.Helper == "sha256:"+digest {
		return &hello, nil
	} else if ctx.Err() != nil {
		return nil, ctx.Err()
	} else if notReached(err) {
		return nil, err
	}
	if b.journal == nil {
		held, err := b.Home.Lock(b.Name(), "login")
		if err != nil {
			return nil, err
		}
		defer held.Unlock()
	}
	var stderr tail
	err = b.Lima.Exec(ctx, b.Record.Instance, ssh.Exec{
		Args:   []string{"sudo", "-n", "sh", "-c", putHelper, "sh", digest, protocol.HelperPath},
		Name:   "put the helper",
		Stdin:  bytes.NewReader(helper),
		Stderr: &stderr,
	})
	if err != nil {
		return nil, fmt.Errorf("put the helper into the box: %w%s", err, suffix(lastLines(stderr.String(), 3)))
	}
	hello = protocol.Hello{}
	if err := b.ask(ctx, protocol.VerbHello, nil, &hello, nil); err != nil {
		return nil, err
	}
	if hello.Helper != "sha256:"+digest {
		return nil, fault.New(fault.IntegrityFailed, "the helper that answers in the box is %s, not the one that was just put there", hello.Helper).Hint("hermes-box restart")
	}
	return &hello, nil
}

// notReached reports whether the error means that no connection was made, so that nothing was done in the box.
func notReached(err error) bool {
	var lost *ssh.TransportError
	return errors.As(err, &lost) && !lost.Started
}

// askUpgrading is ask for a box whose helper may be of another version of this program. Such a helper is replaced
// before it gets any request. The versions are compared once for each Box.
func (b *Box) askUpgrading(ctx context.Context, verb string, request, result any, on func(protocol.Event)) error {
	if !b.upgraded {
		if _, err := b.ensureHelper(ctx); err != nil {
			return err
		}
		b.upgraded = true
	}
	return b.ask(ctx, verb, request, result, on)
}

// otherVersion returns the error for a helper of another version of this program.
func otherVersion(protocolOf int) error {
	theirs := "an unknown protocol"
	if protocolOf != 0 {
		theirs = fmt.Sprintf("protocol %d", protocolOf)
	}
	return fault.New(fault.HealthFailed, "the helper in the box is of another version: it speaks %s, this program speaks protocol %d", theirs, protocol.Version).
		Hint("to replace it, without a restart of Hermes and Executor: hermes-box start")
}

// putHelper is a shell script that stores stdin as the file $2 if its digest is $1. The file gets its name last; the
// helper service of the box then ends by itself and systemd starts it again with the new file. Each run writes a
// temporary file of its own, so that two may run at once; files of killed runs are removed after a day.
const putHelper = `set -eu
mkdir -p "${2%/*}"
find "${2%/*}" -maxdepth 1 -name "${2##*/}.new.*" -mtime +0 -delete 2>/dev/null || :
new=$(mktemp "$2.new.XXXXXX")
trap 'rm -f "$new"' EXIT
cat >"$new"
echo "$1  $new" | sha256sum -c --status
chmod 0755 "$new"
sync "$new"
mv -f "$new" "$2"`
