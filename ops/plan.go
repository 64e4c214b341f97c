package ops

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"hermes-box/ops/fault"
)

// Step is one named part of an operation.
type Step struct {
	ID, Title string
	Do        func(context.Context, *Progress) error
	Undo      func(context.Context) error // nil: nothing to undo
	// Changed, if set, reports after a failure whether the step has changed anything. If not, there is nothing to undo.
	Changed func() bool
	// Stays, if set, is called before the step is undone. It returns "" to undo the step. Otherwise it returns a text
	// that says what stays and what to do about it; then neither the step nor those before it are undone.
	Stays func() string
	// After names the earlier steps that this one waits for; nil is all of them.
	After []string
	// Phase and Software are for the views: see StepInfo.
	Phase    string
	Software bool
}

// Plan is all steps of an operation. It is complete before any of them runs.
type Plan struct {
	Operation, Box string
	Steps          []Step
	// BeforeStep and AfterStep, if set, are called before each step and after each successful step, from several
	// goroutines. Crash tests end the process in AfterStep.
	BeforeStep, AfterStep func(step string)
}

// undoBound is the timeout for undoing one step; stopping a VM takes longest.
const undoBound = 5 * time.Minute

// Run does the steps. When one fails or the context ends, all steps that have begun are undone in reverse, including
// the failed one: a step must be able to undo what it has done before it failed. If undoing one fails, those before it
// are not undone: the next command needs what they have made to recover. The error is that of the step; an error of
// undoing is added to it.
func (p Plan) Run(ctx context.Context, sink Sink) error {
	s := &stream{operation: p.Operation, box: p.Box, sink: sink}
	info := make([]StepInfo, len(p.Steps))
	for i, st := range p.Steps {
		info[i] = StepInfo{ID: st.ID, Title: st.Title, Phase: st.Phase, Software: st.Software}
	}
	begun := time.Now()
	s.emit(Event{Kind: Planned, Steps: info})
	started, err := p.runSteps(ctx, s)
	if err != nil {
		if ctx.Err() != nil {
			err = fault.New(fault.Interrupted, "%s was interrupted", p.Operation)
		}
		if undo := p.undo(ctx, s, started); undo != nil {
			err = fmt.Errorf("%w; %w", err, undo)
		}
	}
	e := Event{Kind: Finished, Seconds: time.Since(begun).Seconds()}
	if err != nil {
		e.Error = err.Error()
	}
	s.emit(e)
	return err
}

// runSteps runs each step when those it waits for have ended. The first failure ends the others and is returned.
// started are the steps that have begun, in the order of the plan.
func (p Plan) runSteps(ctx context.Context, s *stream) (started []Step, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	begun, done := make([]bool, len(p.Steps)), make([]bool, len(p.Steps))
	ended := make([]chan struct{}, len(p.Steps))
	for i, st := range p.Steps {
		ended[i] = make(chan struct{})
		all.Go(func() {
			for j, before := range p.Steps[:i] {
				if st.After != nil && !slices.Contains(st.After, before.ID) {
					continue
				}
				select {
				case <-ended[j]:
				case <-ctx.Done():
					return
				}
			}
			if ctx.Err() != nil {
				return
			}
			begun[i] = true
			if err := p.runStep(ctx, s, st); err != nil {
				cancel(err) // only the first error is kept
				return
			}
			done[i] = true
			close(ended[i])
		})
	}
	all.Wait()
	for i, st := range p.Steps {
		if begun[i] {
			started = append(started, st)
		}
	}
	if !slices.Contains(done, false) {
		return started, nil // an interruption after the last step has no effect
	}
	return started, context.Cause(ctx)
}

func (p Plan) runStep(ctx context.Context, s *stream, st Step) error {
	begun := time.Now()
	if p.BeforeStep != nil {
		p.BeforeStep(st.ID)
	}
	s.emit(Event{Kind: Started, Step: st.ID, Title: st.Title})
	err := guarded(func() error { return st.Do(ctx, &Progress{stream: s, step: st}) })
	e := Event{Kind: Done, Step: st.ID, Title: st.Title, Seconds: time.Since(begun).Seconds()}
	if err != nil {
		e.Kind, e.Error, e.Interrupted = Failed, err.Error(), ctx.Err() != nil
	}
	s.emit(e)
	if err == nil && p.AfterStep != nil {
		p.AfterStep(st.ID)
	}
	return err
}

func (p Plan) undo(ctx context.Context, s *stream, started []Step) error {
	for i := len(started) - 1; i >= 0; i-- {
		st := started[i]
		if st.Stays != nil {
			if what := st.Stays(); what != "" {
				s.emit(Event{Kind: Kept, Step: st.ID, Title: st.Title, Line: what})
				return nil
			}
		}
		if st.Undo == nil || st.Changed != nil && !st.Changed() {
			continue
		}
		s.emit(Event{Kind: Undoing, Step: st.ID, Title: st.Title})
		uctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoBound)
		err := guarded(func() error { return st.Undo(uctx) })
		cancel()
		e := Event{Kind: Undone, Step: st.ID, Title: st.Title}
		if err != nil {
			e.Error = err.Error()
			s.emit(e)
			return fmt.Errorf("could not undo %q: %w", st.Title, err)
		}
		s.emit(e)
	}
	return nil
}

// guarded calls do and returns a panic as an error.
func guarded(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return do()
}
