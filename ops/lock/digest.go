package lock

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"hermes-box/ops/fault"
)

// Digest identifies an artifact, in a form that can be compared.
type Digest struct {
	Algo string // sha256 or sha512
	Hex  string // lower case: 64 or 128 characters
}

// digestForms describes the forms that ParseDigest accepts, for errors.
const digestForms = "sha256:<64 lower-case hex> or sha512-<base64 of 64 bytes>"

// ParseDigest reads "sha256:<64 lower-case hex>" or the SRI form "sha512-<88 characters of base64>".
func ParseDigest(s string) (Digest, error) {
	bad := func() (Digest, error) {
		return Digest{}, fault.New(fault.InvalidInput, "digest %.100q is not %s", s, digestForms)
	}
	if text, ok := strings.CutPrefix(s, "sha256:"); ok {
		raw, err := hex.DecodeString(text)
		if err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != text {
			return bad()
		}
		return Digest{"sha256", text}, nil
	}
	text, ok := strings.CutPrefix(s, "sha512-")
	raw, err := base64.StdEncoding.DecodeString(text)
	// Decoding ignores line breaks and spare bits, but a digest must have only one form.
	if !ok || err != nil || len(raw) != sha512.Size || base64.StdEncoding.EncodeToString(raw) != text {
		return bad()
	}
	return Digest{"sha512", hex.EncodeToString(raw)}, nil
}

// String returns the form that ParseDigest reads.
func (d Digest) String() string {
	if d.Algo == "sha512" {
		raw, _ := hex.DecodeString(d.Hex) // checked by ParseDigest
		return "sha512-" + base64.StdEncoding.EncodeToString(raw)
	}
	return d.Algo + ":" + d.Hex
}

// Path returns the name of an object with this digest in a cache, on a mirror and in the tar for the helper:
// "sha256/<hex>".
func (d Digest) Path() string { return d.Algo + "/" + d.Hex }

// New returns a new hash of the digest's algorithm.
func (d Digest) New() hash.Hash {
	if d.Algo == "sha512" {
		return sha512.New()
	}
	return sha256.New()
}

// Sum returns the digest of what was written to a hash made by New.
func (d Digest) Sum(h hash.Hash) Digest { return Digest{d.Algo, fmt.Sprintf("%x", h.Sum(nil))} }
