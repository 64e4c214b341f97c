package cli

import (
	"context"
	"fmt"
	"io"
)

// screen switches a terminal between the alternate screen, on which the sign-in draws its forms, and the normal
// screen, on which programs of the box run so that their output can be scrolled back. A nil screen does nothing.
type screen struct {
	out io.Writer
	on  bool
}

// openScreen enters the alternate screen. In accessible mode, where everything is printed in lines, it returns nil.
func (a *app) openScreen() *screen {
	if accessible() {
		return nil
	}
	s := &screen{out: a.out}
	s.enter()
	return s
}

func (s *screen) enter() {
	if s != nil && !s.on {
		s.on = true
		fmt.Fprint(s.out, "\x1b[?1049h\x1b[2J\x1b[H")
	}
}

// clear clears the alternate screen and moves the cursor to its top.
func (s *screen) clear() {
	if s != nil && s.on {
		fmt.Fprint(s.out, "\x1b[2J\x1b[H")
	}
}

func (s *screen) leave() {
	if s != nil && s.on {
		s.on = false
		fmt.Fprint(s.out, "\x1b[?1049l")
	}
}

// waitForEnter keeps the output on the normal screen until enter is pressed or ctx is done.
func (s *screen) waitForEnter(ctx context.Context, in io.Reader) {
	if s == nil || s.on {
		return
	}
	fmt.Fprint(s.out, "\npress enter to go back to the sign-in ")
	pressed := make(chan struct{})
	go func() {
		_, _ = in.Read(make([]byte, 1024))
		close(pressed)
	}()
	select {
	case <-pressed:
	case <-ctx.Done(): // a read from a terminal cannot be canceled: it lasts until the process ends
	}
}
