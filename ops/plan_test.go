package ops

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"hermes-box/ops/fault"
)

// trace makes steps that record when they are done and undone.
type trace struct{ log []string }

func (tr *trace) step(id string, do func(context.Context) error) Step {
	return Step{
		ID: id, Title: id,
		Do: func(ctx context.Context, _ *Progress) error {
			tr.log = append(tr.log, id)
			if do == nil {
				return nil
			}
			return do(ctx)
		},
		Undo: func(ctx context.Context) error {
			tr.log = append(tr.log, "undo "+id)
			return ctx.Err()
		},
	}
}

func TestFailureUndoesInReverse(t *testing.T) {
	tr := &trace{}
	boom := fault.New(fault.HealthFailed, "boom").Hint("try")
	plan := Plan{Operation: "create", Box: "main", Steps: []Step{
		tr.step("a", nil),
		tr.step("b", func(context.Context) error { return boom }),
		tr.step("c", nil),
	}}
	var kinds []string
	err := plan.Run(t.Context(), func(e Event) {
		kinds = append(kinds, string(e.Kind)+" "+e.Step)
		if e.Box != "main" || e.Operation != "create" || e.Time.IsZero() {
			t.Errorf("event without a name or time: %+v", e)
		}
	})
	if !errors.Is(err, boom) || fault.CodeOf(err) != fault.HealthFailed || fault.HintOf(err) != "try" {
		t.Errorf("error: %v", err)
	}
	if want := []string{"a", "b", "undo b", "undo a"}; !slices.Equal(tr.log, want) {
		t.Errorf("ran %v, want %v", tr.log, want)
	}
	want := []string{"plan ", "started a", "done a", "started b", "failed b", "undoing b", "undone b", "undoing a", "undone a", "finished "}
	if !slices.Equal(kinds, want) {
		t.Errorf("events %q", kinds)
	}
}

func TestUndoContextIsNotCanceled(t *testing.T) {
	tr := &trace{}
	ctx, cancel := context.WithCancel(t.Context())
	plan := Plan{Operation: "create", Steps: []Step{
		tr.step("a", nil),
		tr.step("b", func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }),
	}}
	err := plan.Run(ctx, nil)
	if fault.CodeOf(err) != fault.Interrupted || strings.Contains(err.Error(), "could not undo") {
		t.Errorf("error: %v", err)
	}
	if want := []string{"a", "b", "undo b", "undo a"}; !slices.Equal(tr.log, want) {
		t.Errorf("ran %v, want %v", tr.log, want)
	}
}

func TestCancelAfterTheLastStepUndoesNothing(t *testing.T) {
	tr := &trace{}
	ctx, cancel := context.WithCancel(t.Context())
	plan := Plan{Operation: "stop", Steps: []Step{
		tr.step("a", nil),
		tr.step("b", func(context.Context) error { cancel(); return nil }),
	}}
	if err := plan.Run(ctx, nil); err != nil {
		t.Errorf("error: %v", err)
	}
	if want := []string{"a", "b"}; !slices.Equal(tr.log, want) {
		t.Errorf("ran %v, want %v", tr.log, want)
	}
}

func TestStepsRunBesideEachOther(t *testing.T) {
	met := make(chan struct{})
	meet := func(ctx context.Context, _ *Progress) error {
		select {
		case met <- struct{}{}:
		case <-met:
		case <-ctx.Done():
			return ctx.Err()
		}
		return nil
	}
	after := false
	plan := Plan{Steps: []Step{
		{ID: "boot", Do: meet},
		{ID: "fetch", Do: meet, After: []string{}},
		{ID: "after", Do: func(context.Context, *Progress) error { after = true; return nil }},
	}}
	if err := plan.Run(t.Context(), nil); err != nil || !after {
		t.Errorf("err %v, after %v", err, after)
	}
}

// A step with After waits only for the steps that it names. A step without After waits for all steps before it.
func TestStepWaitsForNamedSteps(t *testing.T) {
	release := make(chan struct{})
	var log []string
	plan := Plan{Steps: []Step{
		{ID: "a", Do: func(context.Context, *Progress) error { log = append(log, "a"); return nil }},
		{ID: "slow", Do: func(ctx context.Context, _ *Progress) error {
			select {
			case <-release:
			case <-ctx.Done():
				return ctx.Err()
			}
			log = append(log, "slow")
			return nil
		}},
		{ID: "quick", After: []string{"a"}, Do: func(context.Context, *Progress) error {
			log = append(log, "quick")
			close(release)
			return nil
		}},
		{ID: "last", Do: func(context.Context, *Progress) error { log = append(log, "last"); return nil }},
	}}
	if err := plan.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "quick", "slow", "last"}; !slices.Equal(log, want) {
		t.Errorf("ran %v, want %v", log, want)
	}
}

// Every step of create that another one names in After comes before it in the plan.
func TestCreateNamesItsOwnSteps(t *testing.T) {
	plan, err := (&creation{Box: &Box{}}).plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, st := range plan.Steps {
		for _, name := range st.After {
			if !slices.Contains(ids, name) {
				t.Errorf("%s waits for %q, which does not come before it", st.ID, name)
			}
		}
		ids = append(ids, st.ID)
	}
}

// The failure of a step cancels the steps that run at the same time.
func TestFailureCancelsParallelSteps(t *testing.T) {
	boom := errors.New("boom")
	plan := Plan{Steps: []Step{
		{ID: "boot", Do: func(ctx context.Context, _ *Progress) error { <-ctx.Done(); return ctx.Err() }},
		{ID: "fetch", Do: func(context.Context, *Progress) error { return boom }, After: []string{}},
	}}
	if err := plan.Run(t.Context(), nil); !errors.Is(err, boom) {
		t.Errorf("err %v", err)
	}
}

func TestFailedUndoIsReportedWithTheCause(t *testing.T) {
	boom, stuck := errors.New("boom"), errors.New("stuck")
	plan := Plan{Steps: []Step{{ID: "a", Title: "make a",
		Do:   func(context.Context, *Progress) error { return boom },
		Undo: func(context.Context) error { return stuck }}}}
	err := plan.Run(t.Context(), nil)
	if !errors.Is(err, boom) || !errors.Is(err, stuck) || strings.Contains(err.Error(), "\n") {
		t.Errorf("err %q", err)
	}
}

func TestPanicIsAFailureAndUndone(t *testing.T) {
	undone := false
	plan := Plan{Steps: []Step{{ID: "a",
		Do:   func(context.Context, *Progress) error { panic("ouch") },
		Undo: func(context.Context) error { undone = true; return nil }}}}
	if err := plan.Run(t.Context(), nil); err == nil || !undone {
		t.Errorf("err %v, undone %v", err, undone)
	}
}

// A step with a Stays text is reported as kept, and no step before it is undone.
func TestStepThatStaysIsNotUndone(t *testing.T) {
	tr := &trace{}
	stays := ""
	boot := tr.step("boot", func(context.Context) error { stays = "the VM stays up"; return nil })
	boot.Stays = func() string { return stays }
	plan := Plan{Operation: "start", Steps: []Step{
		tr.step("ports", nil), boot, tr.step("verify", func(context.Context) error { return errors.New("no") })}}
	var kinds []string
	if err := plan.Run(t.Context(), func(e Event) {
		if e.Kind == Kept || e.Kind == Undone {
			kinds = append(kinds, string(e.Kind)+" "+e.Step+" "+e.Line)
		}
	}); err == nil {
		t.Error("no error")
	}
	if want := []string{"undone verify ", "kept boot the VM stays up"}; !slices.Equal(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
}

// A step that ends because another one has failed is interrupted: only the other one counts as failed.
func TestOnlyTheFirstFailureIsNotInterrupted(t *testing.T) {
	begun := make(chan struct{})
	plan := Plan{Operation: "restore", Steps: []Step{
		{ID: "boot", Do: func(ctx context.Context, _ *Progress) error { close(begun); <-ctx.Done(); return ctx.Err() }},
		{ID: "fetch", After: []string{}, Do: func(context.Context, *Progress) error { <-begun; return errors.New("no network") }},
	}}
	interrupted := map[string]bool{}
	err := plan.Run(t.Context(), func(e Event) {
		if e.Kind == Failed {
			interrupted[e.Step] = e.Interrupted
		}
	})
	if err == nil || len(interrupted) != 2 || interrupted["fetch"] || !interrupted["boot"] {
		t.Errorf("%v, interrupted: %v", err, interrupted)
	}
}
