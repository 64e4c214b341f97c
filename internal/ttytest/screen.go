package ttytest

import (
	"regexp"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// moment is how long a program must write nothing before its frame is taken as complete.
const moment = 100 * time.Millisecond

// Shows waits until all texts are on the screen at the same time.
func (t *Terminal) Shows(texts ...string) {
	t.t.Helper()
	t.Until(strings.Join(texts, ", "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// Hides waits until a text has stayed off the screen for a moment. A program that draws a whole frame clears the screen
// first, and the rest of the frame may be read later.
func (t *Terminal) Hides(text string) {
	t.t.Helper()
	var since time.Time // the text has not been on the screen since then
	t.Until("a screen without "+text, func(screen string) bool {
		switch {
		case strings.Contains(screen, text):
			since = time.Time{}
			return false
		case since.IsZero():
			since = time.Now()
		}
		return t.hasEnded() || time.Since(since) >= moment
	})
}

// Until waits until a condition holds. description names the condition in the failure message.
func (t *Terminal) Until(description string, ok func(screen string) bool) {
	t.t.Helper()
	t.wait(description, func() bool { return ok(t.Text()) })
}

// Hears waits until a regular expression matches the output since the last match, and returns that output up to the
// end of the match. It is for lines that scroll away and for sequences that no screen shows.
func (t *Terminal) Hears(pattern string) string {
	t.t.Helper()
	re := regexp.MustCompile(pattern)
	from := t.heard
	t.wait(pattern, func() bool {
		at := re.FindStringIndex(t.Output()[from:])
		if at != nil {
			t.heard = from + at[1]
		}
		return at != nil
	})
	return t.Output()[from:t.heard]
}

// wait checks a condition after each output until it holds. description names the condition in the failure message.
func (t *Terminal) wait(description string, ok func() bool) {
	t.t.Helper()
	late := time.After(t.Patience)
	for ended := false; !ok(); {
		if ended {
			t.t.Fatalf("the program ended (%v) before it showed %s:\n%s\n%q", t.err, description, t.Text(), t.Output())
		}
		select {
		case <-t.fresh:
		case <-time.After(50 * time.Millisecond): // for a state that changes without output
		case <-t.ended:
			ended = true
		case <-late:
			t.hangs("the program never shows " + description)
		}
	}
}

// Idle waits until the program has written nothing for a moment, so that a frame is complete.
func (t *Terminal) Idle() {
	t.t.Helper()
	late := time.After(t.Patience)
	for {
		select {
		case <-t.fresh:
		case <-time.After(moment):
			return
		case <-late:
			t.hangs("the program never pauses")
		}
	}
}

// Text returns the text on the screen, without trailing spaces and empty lines.
func (t *Terminal) Text() string {
	t.mu.Lock()
	lines := strings.Split(ansi.Strip(t.screen.Render()), "\n")
	t.mu.Unlock()
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Cells returns the cells of the screen, row by row.
func (t *Terminal) Cells() [][]uv.Cell {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := make([][]uv.Cell, t.screen.Height())
	for y := range rows {
		rows[y] = make([]uv.Cell, t.screen.Width())
		for x := range rows[y] {
			if c := t.screen.CellAt(x, y); c != nil {
				rows[y][x] = *c
			}
		}
	}
	return rows
}

// Output returns everything the program has written, with its escape sequences.
func (t *Terminal) Output() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw.String()
}
