package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"hermes-box/ops"
	"hermes-box/tui/widget"
)

// stepState is the state of a step of a plan.
type stepState int

const (
	stepPending stepState = iota
	stepRunning
	stepDone
	stepFailed
	stepStuck // it could not be undone
	stepCanceled
	stepUndoing
	stepUndone
	stepKept // it is not undone
)

// step is a row of the plan.
type step struct {
	ops.StepInfo
	state       stepState
	begun       time.Time
	took        time.Duration
	done, total int64
	about       bool    // total is an estimate
	rate        float64 // bytes a second, smoothed
	moved       time.Time
	phases      ops.Phases
	detail      string // its current phase, the phase that failed, or why it is not undone
}

// bytes updates the bytes moved, and the rate, which it smooths over some seconds.
func (s *step) bytes(e ops.Event) {
	if dt := e.Time.Sub(s.moved).Seconds(); !s.moved.IsZero() && dt > 0 && e.Done > s.done {
		now := float64(e.Done-s.done) / dt
		if s.rate == 0 {
			s.rate = now
		} else {
			weight := min(1, dt/3)
			s.rate += (now - s.rate) * weight
		}
	}
	s.done, s.total, s.moved = e.Done, e.Total, e.Time
}

// timeLeft returns how long the remaining bytes take at this rate; empty if that is not known.
func (s *step) timeLeft() string {
	if s.rate <= 0 || s.total <= s.done {
		return ""
	}
	left := time.Duration(float64(s.total-s.done) / s.rate * float64(time.Second))
	switch {
	case left <= 0:
		return ""
	case left < 10*time.Second:
		return fmt.Sprintf("%.0fs left", max(1, left.Seconds()))
	}
	return widget.Elapsed(left) + " left"
}

// line draws the step in w cells, its title in a column of titleW.
func (s *step) line(p page, w, titleW int) string {
	var mark, tail string
	title := widget.Clean(s.Title)
	room := w - titleW - 2
	switch s.state {
	case stepPending:
		mark, title = p.Dim.Render("·"), p.Dim.Render(title)
	case stepRunning:
		mark, title = p.Info.Render("▸"), p.Title.Render(title)
		tail = s.progress(p, room)
	case stepDone:
		mark, tail = p.Good.Render("✓"), p.Dim.Render(widget.Elapsed(s.took))
	case stepFailed:
		mark, tail = p.Bad.Render("✗"), p.Bad.Render("failed")+p.Dim.Render(" after "+widget.Elapsed(s.took))
		if s.detail != "" {
			tail = p.Bad.Render("failed") + p.Dim.Render(" at "+s.detail)
		}
		if ansi.StringWidth(tail) > room {
			tail = p.Bad.Render(or(s.detail, "failed"))
		}
	case stepStuck:
		mark, tail = p.Bad.Render("✗"), p.Bad.Render(s.detail)
	case stepCanceled:
		mark, tail = p.Warn.Render("–"), p.Warn.Render("canceled")+p.Dim.Render(" after "+widget.Elapsed(s.took))
	case stepUndoing:
		mark, tail = p.Warn.Render("↩"), p.Warn.Render("undoing")
	case stepKept:
		mark, tail = p.Good.Render("✓"), p.Dim.Render("not undone: "+s.detail)
	case stepUndone:
		mark, tail = p.Warn.Render("↩"), p.Dim.Render("undone")
	}
	return widget.Fit(mark+" "+widget.Fit(title, titleW-1)+" "+tail, w)
}

// progress draws the progress of a running step in w cells: its bytes or, if there are none, its phase.
func (s *step) progress(p page, w int) string {
	took := widget.SoFar(p.now.Sub(s.begun))
	if s.done > 0 && s.done >= s.total && (s.total <= 0 || s.about) { // the total is not known
		text, rate := widget.Size(s.done)+" · "+took, widget.Size(int64(s.rate))+"/s"
		if longer := text + " · " + rate; s.rate > 0 && ansi.StringWidth(longer) <= w {
			text = longer
		}
		return p.Dim.Render(widget.Fit(text, max(0, min(w, ansi.StringWidth(text)))))
	}
	if s.total <= 0 || s.done >= s.total {
		if text := s.detail + " · " + took; s.detail != "" && ansi.StringWidth(text) <= w {
			return p.Dim.Render(text)
		} else if s.detail != "" {
			return p.Dim.Render(someOf(s.detail, w)) // numbers must not be cut
		}
		return p.Dim.Render(took)
	}
	done, total := widget.Size(s.done), widget.Size(s.total)
	if n, unit, _ := strings.Cut(done, " "); strings.HasSuffix(total, unit) {
		done = n
	}
	text := done + " of " + total
	if s.about {
		text = done + " of about " + total
	}
	if ansi.StringWidth(text+" · "+s.timeLeft()) > w {
		text = fmt.Sprintf("%d %%", int(100*float64(s.done)/float64(s.total)))
		if s.about {
			text = "about " + text
		}
	}
	for _, more := range []string{s.timeLeft(), widget.Size(int64(s.rate)) + "/s"} { // as many as fit
		if longer := text + " · " + more; s.rate > 0 && more != "" && ansi.StringWidth(longer) <= w {
			text = longer
		}
	}
	if free := w - ansi.StringWidth(text) - 1; free >= 6 {
		return p.Gauge(s.done, s.total, min(free, 16), p.Info) + " " + p.Dim.Render(text)
	}
	return p.Dim.Render(widget.Fit(text, max(0, w)))
}

// someOf shortens a list to w cells: the first items and how many more there are. If not even the first item fits, it
// returns the whole list.
func someOf(list string, w int) string {
	parts := strings.Split(list, ", ")
	for n := len(parts); n > 0; n-- {
		text := strings.Join(parts[:n], ", ")
		if more := len(parts) - n; more > 0 {
			text += fmt.Sprintf(" +%d", more)
		}
		if ansi.StringWidth(text) <= w {
			return text
		}
	}
	return list
}
