package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// step builds one product, a folder of the cache. The product is rebuilt when the recipe changes.
type step struct {
	name    string
	product string   // folder in the cache; if empty, the step decides itself whether to run
	recipe  []string // everything that the product depends on
	after   []string // steps whose products it needs
	make    func(*build, context.Context) error
}

// keyFile records the recipe of a product.
const keyFile = ".recipe"

func (s step) key() string {
	h := sha256.New()
	for _, part := range s.recipe {
		fmt.Fprintf(h, "%q\n", part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// outcome is the result of a step.
type outcome struct {
	built bool
	size  int64
	took  time.Duration
}

// do builds the product of a step in a temporary folder and renames it, unless the cache has a product of this recipe.
func (l *lab) do(ctx context.Context, s step) (outcome, error) {
	began := time.Now()
	product := l.path(s.product)
	if s.product != "" {
		if key, err := os.ReadFile(filepath.Join(product, keyFile)); err == nil && string(key) == s.key() {
			size, err := treeSize(product)
			return outcome{size: size}, err
		}
	}
	id := strings.ReplaceAll(s.name, " ", "-")
	work := l.path(".work", id) // a killed prepare may have left files there
	if err := os.RemoveAll(work); err != nil {
		return outcome{}, err
	}
	log, err := os.Create(l.path("log", id+".log"))
	if err != nil {
		return outcome{}, err
	}
	defer log.Close()
	b := &build{lab: l, dir: filepath.Join(work, "product"), tmp: filepath.Join(work, "tmp"), log: log}
	for _, dir := range []string{b.dir, b.tmp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return outcome{}, err
		}
	}
	defer os.RemoveAll(work)
	if err := s.make(b, ctx); err != nil {
		return outcome{}, err
	}
	o := outcome{built: b.built || s.product != ""}
	if s.product != "" {
		if err := os.WriteFile(filepath.Join(b.dir, keyFile), []byte(s.key()), 0o644); err != nil {
			return outcome{}, err
		}
		if err := readable(b.dir); err != nil {
			return outcome{}, err
		}
		if err := replace(b.dir, product, filepath.Join(work, "old")); err != nil {
			return outcome{}, err
		}
		if o.size, err = treeSize(product); err != nil {
			return outcome{}, err
		}
	}
	o.took = time.Since(began)
	return o, nil
}

// replace moves an older folder to old and renames the finished one to the name of the product.
func replace(from, to, old string) error {
	if err := os.Rename(to, old); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Rename(from, to)
}

// readable lets every user read a product that root built.
func readable(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.Chmod(path, 0o755)
		case d.Type().IsRegular():
			return os.Chmod(path, info.Mode().Perm()|0o444)
		}
		return nil
	})
}

func treeSize(dir string) (int64, error) {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
