package main

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// file is a file of a product. If a package client has fetched the file, Digest is the digest that the client
// reported, and record compares the file with it.
type file struct {
	Name    string `json:"name"`
	Package string `json:"package"`
	Version string `json:"version"`
	Size    int64  `json:"size"` // bytes
	Digest  string `json:"digest"`
}

const filesName = "files.json"

// record checks the files against their reported digests and writes a list of them into the product.
func (b *build) record(files []file) error {
	if len(files) == 0 {
		return fmt.Errorf("nothing was fetched (see %s)", b.log.Name())
	}
	for i, f := range files {
		path := filepath.Join(b.dir, f.Name)
		size, digest, err := digestFile(path, f.Digest)
		if err != nil {
			return err
		}
		if digest != f.Digest {
			return fmt.Errorf("%s is %s, its registry says %s", f.Name, digest, f.Digest)
		}
		if f.Size != 0 && f.Size != size {
			return fmt.Errorf("%s has %d bytes, its registry says %d", f.Name, size, f.Size)
		}
		files[i].Size = size
		if err := os.Chmod(path, 0o644); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(files, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, filesName), append(data, '\n'), 0o644)
}

// plainName reports whether a file name that a client printed has no path in it.
func plainName(name string) bool {
	return filepath.IsLocal(name) && name == filepath.Base(name) && name != "."
}

// files reads the list that record wrote.
func (l *lab) files(product string) ([]file, error) {
	data, err := os.ReadFile(l.path(product, filesName))
	if err != nil {
		return nil, err
	}
	var files []file
	if err := json.Unmarshal(data, &files); err != nil {
		return nil, fmt.Errorf("%s: %w", l.path(product, filesName), err)
	}
	return files, nil
}

// digestFile returns the size and the digest of a file. The digest is "sha512-<base64>" if like begins with "sha512-",
// and otherwise "sha256:<hex>".
func digestFile(path, like string) (size int64, digest string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	if strings.HasPrefix(like, "sha512-") {
		h := sha512.New()
		size, err = io.Copy(h, f)
		return size, "sha512-" + base64.StdEncoding.EncodeToString(h.Sum(nil)), err
	}
	h := sha256.New()
	size, err = io.Copy(h, f)
	return size, "sha256:" + hex.EncodeToString(h.Sum(nil)), err
}
