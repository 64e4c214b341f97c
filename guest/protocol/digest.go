package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// ReleaseDigest identifies the artifacts of a component: "sha256:<hex>" over their digests, in order, each
// ended by a newline. It is what AppliedComponent.Digest holds.
func ReleaseDigest(artifacts []Artifact) string {
	h := sha256.New()
	for _, a := range artifacts {
		io.WriteString(h, a.Digest+"\n")
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
