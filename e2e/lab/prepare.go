package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/gofrs/flock"
)

// step makes one product: a folder of the cache. It is made again when its recipe changes.
type step struct {
	name    string
	product string   // folder below the cache; empty: the step looks for itself whether there is something to do
	recipe  []string // all that decides what the product is
	after   []string // steps whose products it needs
	make    func(*build, context.Context) error
}

// keyFile in a product says what recipe it was made from.
const keyFile = ".recipe"

func (s step) key() string {
	h := sha256.New()
	for _, part := range s.recipe {
		fmt.Fprintf(h, "%q\n", part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func steps() []step {
	return []step{
		{name: "host tools", make: (*build).installTools},
		limaStep(),
		imageStep(),
		packagesStep(),
		npmStep("node"),
		pipStep("uv", "uv=="+uvVersion+"\n"),
		npmStep("claude"),
		npmStep("codex"),
		pipStep("hermes", hermesWheels),
		executorStep(),
	}
}

// progress is a step under way; the rest is set when done is closed.
type progress struct {
	done chan struct{}
	outcome
	err error
}

// outcome is what a step came to.
type outcome struct {
	built bool
	size  int64
	took  time.Duration
}

// errSkipped is the failure of a step that needed one that failed.
var errSkipped = errors.New("skipped")

func (p *progress) String() string {
	switch {
	case p.err != nil:
		return "failed"
	case p.built:
		return "made in " + seconds(p.took)
	default:
		return "there"
	}
}

// prepare makes what is missing, several steps at a time, and then the lock. One prepare works on a cache at a
// time; a second one waits, and finds everything done.
func (l *lab) prepare(ctx context.Context, out io.Writer) error {
	syscall.Umask(0o022) // the ordinary user reads what root makes
	began := time.Now()
	for _, dir := range []string{l.dir, l.path(".work"), l.path("log"), l.path("mirror")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the cache: %w", err)
		}
	}
	only := flock.New(l.path(".lock"))
	if _, err := only.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return fmt.Errorf("wait for another prepare of %s: %w", l.dir, err)
	}
	defer only.Unlock()

	all := steps()
	running := map[string]*progress{}
	for _, s := range all {
		running[s.name] = &progress{done: make(chan struct{})}
	}
	var mu sync.Mutex // of out
	for _, s := range all {
		go func() {
			p := running[s.name]
			defer close(p.done)
			for _, name := range s.after {
				if <-running[name].done; running[name].err != nil {
					p.err = errSkipped
					return
				}
			}
			p.outcome, p.err = l.do(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(out, "%6.1fs  %-10s  %s\n", time.Since(began).Seconds(), s.name, p)
		}()
	}
	// One failure does not throw away what the others are at.
	var failed []error
	for _, s := range all {
		p := running[s.name]
		if <-p.done; p.err != nil && !errors.Is(p.err, errSkipped) {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, p.err))
		}
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	if err := l.writeLock(); err != nil {
		return err
	}
	table(out, all, running, time.Since(began))
	fmt.Fprintf(out, "lock: %s\n", l.lockPath())
	return nil
}

// do makes a step's product beside and renames it into place, unless it is there from the same recipe.
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
	work := l.path(".work", id) // what a killed prepare left there is ours to remove
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

// replace puts a finished folder in place of an older one, which goes to old.
func replace(from, to, old string) error {
	if err := os.Rename(to, old); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Rename(from, to)
}

// readable lets every user read a product: root makes it, the ordinary user uses it.
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

func table(out io.Writer, all []step, steps map[string]*progress, took time.Duration) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nSTEP\tSIZE\tTIME")
	var size int64
	for _, s := range all {
		o := steps[s.name]
		size += o.size
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.name, megabytes(o.size), seconds(o.took))
	}
	fmt.Fprintf(w, "all\t%s\t%s\n", megabytes(size), seconds(took))
	w.Flush()
}

func megabytes(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
