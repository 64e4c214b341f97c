package cli

import (
	"context"
	"fmt"
	"io"
)

// screen is the alternate screen of a terminal, on which the sign-in draws its forms: what the shell has written stays
// untouched. Programs of the box run on the normal screen, where their output can be scrolled back. A nil screen does
// nothing.
type screen struct {
	out io.Writer
	on  bool
}

// openScreen enters the alternate screen; nil in accessible mode, where everything is printed in lines.
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

// clear begins at the top again.
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

// untilRead keeps what is on the normal screen until enter is pressed.
func (s *screen) untilRead(ctx context.Context, in io.Reader) {
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
	case <-ctx.Done(): // a read from a terminal cannot be ended; it ends with the process
	}
}
