package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/gofrs/flock"
)

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

// progress is the state of a step. The other fields are set when done is closed.
type progress struct {
	done chan struct{}
	outcome
	err error
}

// errSkipped is the error of a step that depends on a failed one.
var errSkipped = errors.New("skipped")

func (p *progress) String() string {
	switch {
	case p.err != nil:
		return "failed"
	case p.built:
		return "made in " + seconds(p.took)
	default:
		return "up to date"
	}
}

// prepare builds the products that are missing or have another recipe now, several at a time, and then writes the
// lock. A second prepare of the same cache waits for the first.
func (l *lab) prepare(ctx context.Context, out io.Writer) error {
	syscall.Umask(0o022) // the ordinary user must be able to read the products
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
	var mu sync.Mutex // guards out
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
	// When a step fails, the steps that do not depend on it still finish, and their products are kept.
	var failed []error
	for _, s := range all {
		p := running[s.name]
		for waiting := true; waiting; {
			select {
			case <-p.done:
				waiting = false
			case <-time.After(30 * time.Second):
				mu.Lock()
				fmt.Fprintf(out, "%6.1fs  %-10s  running\n", time.Since(began).Seconds(), s.name)
				mu.Unlock()
			}
		}
		if p.err != nil && !errors.Is(p.err, errSkipped) {
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
