package cli

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"hermes-box/ops"
	"hermes-box/tui"
)

// heartbeat is how long the output may be silent while a step runs.
const heartbeat = 30 * time.Second

// progress prints the events of an operation: a line for each warning and for each step that ends, is undone or is
// kept. On a terminal it also redraws a line with the running steps. Without a terminal it prints a line for each
// phase of a component, and a heartbeat.
type progress struct {
	out   io.Writer
	style style
	live  bool

	mu      sync.Mutex
	running map[string]*running
	drawn   bool // the redrawn line is on the screen
	last    time.Time
	stop    chan struct{}
	ended   sync.WaitGroup
}

type running struct {
	title       string
	begun       time.Time
	done, total int64
	first       int64     // the first number of bytes that was reported in this phase
	counted     time.Time // when first was reported
	last        time.Time // when bytes were last reported
	phases      ops.Phases
}

func newProgress(out io.Writer, s style, live bool) *progress {
	p := &progress{out: out, style: s, live: live, running: map[string]*running{}, last: time.Now(), stop: make(chan struct{})}
	p.ended.Go(p.tick)
	return p
}

func (p *progress) tick() {
	t := time.NewTicker(250 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			p.mu.Lock()
			if p.live {
				p.draw()
			} else if len(p.running) > 0 && time.Since(p.last) >= heartbeat {
				p.print(p.style.dim("  ... " + p.now()))
			}
			p.mu.Unlock()
		}
	}
}

// close stops the redrawing and the heartbeat, and removes the redrawn line.
func (p *progress) close() {
	close(p.stop)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *progress) event(e ops.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case ops.Started:
		p.running[e.Step] = &running{title: e.Title, begun: time.Now()}
	case ops.Bytes:
		if r := p.running[e.Step]; r != nil {
			if r.counted.IsZero() {
				r.first, r.counted = e.Done, e.Time
			}
			r.done, r.total = e.Done, e.Total
			r.last = e.Time
		}
	case ops.Phase:
		if r := p.running[e.Step]; r != nil {
			r.phases.Follow(e)
			r.done, r.total, r.counted = 0, 0, time.Time{} // they counted the previous phase
		}
		if e.Component != "" && !p.live {
			p.print(p.style.dim(fmt.Sprintf("    %s %s: %s", e.Component, e.Phase, tui.SignOf(e.State).Word)))
		}
	case ops.Done:
		delete(p.running, e.Step)
		p.print(fmt.Sprintf("%s %s %s", p.style.green("✓"), e.Title, p.style.dim(seconds(e.Seconds))))
	case ops.Failed:
		delete(p.running, e.Step)
		mark := p.style.red("✗")
		if e.Interrupted {
			mark = p.style.yellow("!") + " ended:"
		}
		p.print(fmt.Sprintf("%s %s %s", mark, e.Title, p.style.dim(seconds(e.Seconds))))
	case ops.Undoing:
		p.running[e.Step] = &running{title: "undo: " + e.Title, begun: time.Now()}
	case ops.Undone:
		delete(p.running, e.Step)
		if e.Error != "" {
			p.print(fmt.Sprintf("%s could not undo: %s: %s", p.style.red("✗"), e.Title, e.Error))
		} else {
			p.print(fmt.Sprintf("%s undone: %s", p.style.yellow("↩"), e.Title))
		}
	case ops.Kept:
		p.print(fmt.Sprintf("%s not undone: %s: %s", p.style.yellow("!"), e.Title, e.Line))
	case ops.Warning:
		p.print(fmt.Sprintf("%s %s", p.style.yellow("!"), e.Line))
	}
	if p.live {
		p.draw()
	}
}

func (p *progress) print(line string) {
	p.clear()
	fmt.Fprintln(p.out, line)
	p.last = time.Now()
}

func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

func (p *progress) draw() {
	p.clear()
	if len(p.running) == 0 {
		return
	}
	line := "  " + p.now()
	if f, ok := p.out.(interface{ Fd() uintptr }); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 1 {
			if r := []rune(line); len(r) >= w {
				line = string(r[:w-1])
			}
		}
	}
	fmt.Fprint(p.out, line)
	p.drawn = true
}

// now returns the running steps in one line, the oldest first.
func (p *progress) now() string {
	all := make([]*running, 0, len(p.running))
	for _, r := range p.running {
		all = append(all, r)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].begun.Before(all[j].begun) })
	var parts []string
	for _, r := range all {
		s := r.title
		if at := r.phases.String(); at != "" {
			s += ": " + at
		}
		parts = append(parts, s+r.moved()+" "+seconds(time.Since(r.begun).Seconds()))
	}
	return strings.Join(parts, " · ")
}

// moved returns the bytes that a step has moved and, once it has reported bytes for a second, their rate.
func (r *running) moved() string {
	s := ""
	switch {
	case r.total > 0:
		s = fmt.Sprintf(" %d of %d MiB", r.done>>20, r.total>>20)
	case r.done > 0:
		s = " " + sizeText(r.done)
	}
	if over := r.last.Sub(r.counted).Seconds(); s != "" && over >= 1 && r.done > r.first {
		s += fmt.Sprintf(", %s/s", sizeText(int64(float64(r.done-r.first)/over)))
	}
	return s
}

// seconds formats a duration in seconds; a negative one is 0.
func seconds(s float64) string {
	s = max(s, 0)
	if s < 60 {
		return fmt.Sprintf("%.1fs", s)
	}
	return fmt.Sprintf("%dm%02ds", int(s)/60, int(s)%60)
}
