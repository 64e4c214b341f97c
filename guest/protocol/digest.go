package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// ReleaseDigest identifies the artifacts of a component. It is the sha256 of their digests, in order, each followed by a
// newline.
func ReleaseDigest(artifacts []Artifact) string {
	h := sha256.New()
	for _, a := range artifacts {
		io.WriteString(h, a.Digest+"\n")
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
