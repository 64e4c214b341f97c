package guest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"hermes-box/guest/protocol"
)

// Hello says which helper this is, and which objects it has. It needs no privilege.
func (g *Guest) Hello() (protocol.Hello, error) {
	h := protocol.Hello{Protocol: protocol.Version}
	var err error
	if h.Helper, err = g.helperDigest(); err != nil {
		return h, err
	}
	h.Objects, err = g.Objects().Digests()
	return h, err
}

// helperDigest is the digest of the running helper.
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
