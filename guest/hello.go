package guest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"

	"hermes-box/guest/protocol"
)

// Hello returns the protocol version and the digest of this helper, and the digests of the objects that the guest has.
// It needs no privilege.
func (g *Guest) Hello() (protocol.Hello, error) {
	h := protocol.Hello{Protocol: protocol.Version}
	var err error
	if h.Helper, err = g.helperDigest(); err != nil {
		return h, err
	}
	h.Objects, err = g.Objects().Digests()
	return h, err
}

// helperDigest returns the digest of the running helper.
func (g *Guest) helperDigest() (string, error) {
	if g.Helper != "" {
		return fileDigest(g.Helper)
	}
	return ownDigest()
}

// own holds the digest of the running executable; empty until ownDigest computes it.
var own struct {
	sync.Mutex
	digest string
}

// ownDigest returns the digest of the running executable, even if its file has been replaced. The path that
// os.Executable returns would lead to the new file.
func ownDigest() (digest string, err error) {
	own.Lock()
	defer own.Unlock()
	if own.digest == "" {
		own.digest, err = fileDigest("/proc/self/exe")
	}
	return own.digest, err
}

func fileDigest(path string) (string, error) {
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
