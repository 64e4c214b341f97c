package object

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"hermes-box/guest/protocol"
)

func newHash(algo string) (hash.Hash, error) {
	switch algo {
	case "sha256":
		return sha256.New(), nil
	case "sha512":
		return sha512.New(), nil
	}
	return nil, fmt.Errorf("unknown digest algorithm %q", algo)
}

// Name returns the file name "<algo>/<hex>" for the digest "sha256:<hex>" or "sha512-<base64>".
func Name(digest string) (string, error) {
	if enc, ok := strings.CutPrefix(digest, "sha256:"); ok {
		if sum, err := hex.DecodeString(enc); err == nil && len(sum) == sha256.Size {
			return "sha256/" + hex.EncodeToString(sum), nil
		}
	}
	if enc, ok := strings.CutPrefix(digest, "sha512-"); ok {
		if sum, err := base64.StdEncoding.DecodeString(enc); err == nil && len(sum) == sha512.Size {
			return "sha512/" + hex.EncodeToString(sum), nil
		}
	}
	return "", &protocol.Error{Code: "invalid_input", Message: fmt.Sprintf("%q is not a digest", digest),
		Hint: "a digest is sha256:<64 hex> or sha512-<base64>"}
}

// digestOf returns the digest for a name that Name returns. Any other name is an error.
func digestOf(name string) (string, error) {
	algo, enc, _ := strings.Cut(name, "/")
	sum, err := hex.DecodeString(enc)
	if err == nil && hex.EncodeToString(sum) == enc {
		switch {
		case algo == "sha256" && len(sum) == sha256.Size:
			return "sha256:" + enc, nil
		case algo == "sha512" && len(sum) == sha512.Size:
			return "sha512-" + base64.StdEncoding.EncodeToString(sum), nil
		}
	}
	return "", &protocol.Error{Code: "invalid_input", Message: fmt.Sprintf("%q is not the name of an object", name),
		Hint: "an object is named sha256/<hex> or sha512/<hex>"}
}
