package backup

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"filippo.io/age"
	"github.com/restic/chunker"
)

// secrets is the identity of a pool and what is derived from it with HKDF-SHA256. age proves that a file is intact, but
// anybody who knows the recipient can make one: the HMACs prove that the holder of the identity made it.
type secrets struct {
	identity *age.X25519Identity
	chunkKey []byte
	macKey   []byte
	cuts     chunker.Pol // where large files are cut
}

func deriveSecrets(identity *age.X25519Identity) (*secrets, error) {
	derive := func(use string, n int) ([]byte, error) {
		return hkdf.Key(sha256.New, []byte(identity.String()), nil, "hermes-box pool v1: "+use, n)
	}
	s := &secrets{identity: identity}
	var err error
	if s.chunkKey, err = derive("chunk id", 32); err != nil {
		return nil, err
	}
	if s.macKey, err = derive("bundle mac", 32); err != nil {
		return nil, err
	}
	// One number in 27 is an irreducible polynomial, so 1000 numbers are enough.
	random, err := derive("cut", 8000)
	if err != nil {
		return nil, err
	}
	if s.cuts, err = chunker.DerivePolynomial(bytes.NewReader(random)); err != nil {
		return nil, fmt.Errorf("derive the polynomial: %w", err)
	}
	return s, nil
}

// chunkID returns the name of a chunk: an HMAC of its plaintext, so that names reveal nothing about the content.
func (s *secrets) chunkID(plain []byte) string {
	h := hmac.New(sha256.New, s.chunkKey)
	h.Write(plain)
	return hex.EncodeToString(h.Sum(nil))
}

// newMAC returns a new HMAC. Equal data has a different HMAC for each use, such as "bundle" or "envelope".
func (s *secrets) newMAC(use string) hash.Hash {
	h := hmac.New(sha256.New, s.macKey)
	h.Write([]byte(use + "\x00"))
	return h
}

func (s *secrets) mac(use string, data []byte) []byte {
	h := s.newMAC(use)
	h.Write(data)
	return h.Sum(nil)
}
