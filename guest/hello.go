package guest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// Hello introduces this helper and the machine it is in. It needs no privilege.
func (g *Guest) Hello(ctx context.Context) (protocol.Hello, error) {
	h := protocol.Hello{Protocol: protocol.Version, Arch: runtime.GOARCH, BootID: g.bootID()}
	var err error
	if h.Helper, err = g.helperDigest(); err != nil {
		return h, err
	}
	switch _, err := os.Stat(g.Path(layout.Bootstrapped)); {
	case err == nil:
		h.Bootstrapped = true
	case !errors.Is(err, fs.ErrNotExist):
		return h, err
	}
	if h.DataUUID, err = g.Machine.MountedUUID(ctx, g.Path(protocol.DataDir)); err != nil {
		return h, err
	}
	h.Objects, err = g.Objects().Digests()
	return h, err
}

// helperDigest is the sha256 of the helper: host and helper are built together, and prove it.
func (g *Guest) helperDigest() (string, error) {
	path := g.Helper
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return "", err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
