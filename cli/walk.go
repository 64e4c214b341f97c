package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"charm.land/huh/v2"

	"hermes-box/internal/sanitize"
	"hermes-box/ops"
	"hermes-box/ops/fault"
)

// The answers in the walkthrough that are not the id of a step.
const (
	leave = "leave"
	again = "again"
	run   = "run"
	skip  = "skip"
)

// walk is the walkthrough: a list of the steps and a card for each, until the user leaves.
type walk struct {
	*app
	box    *ops.Box
	notice string // the outcome of the last step, shown on the next form
}

func (a *app) walk(ctx context.Context, b *ops.Box) error {
	a.screen = a.openScreen()
	defer a.screen.leave()
	w := &walk{app: a, box: b}
	at := "" // the step to put the cursor on
	for {
		steps, err := a.askSignIns(ctx, b)
		if err != nil {
			return err
		}
		choice, err := w.choose(ctx, steps, at)
		if errors.Is(err, errLeft) || choice == leave {
			a.screen.leave()
			return a.result("login", steps, func(p *printer) { signInsText(p, steps) })
		}
		if err != nil {
			return err
		}
		if choice == again {
			continue
		}
		if at, err = w.card(ctx, steps, choice); err != nil {
			return err
		}
	}
}

// choose shows the list and returns the choice. The cursor starts on the step whose ID is at. If at is empty, it
// starts on the first step that is not done, or on Leave if all are done.
func (w *walk) choose(ctx context.Context, steps signIns, at string) (string, error) {
	choice := again
	options := make([]huh.Option[string], 0, len(steps.Steps)+2)
	for _, s := range steps.Steps {
		options = append(options, huh.NewOption(signInLine(style{}, s), s.ID))
		if s.ID == at || at == "" && choice == again && !s.Done {
			choice = s.ID
		}
	}
	if at == "" && choice == again { // nothing is left to do
		choice = leave
	}
	options = append(options, huh.NewOption("  Check again", again), huh.NewOption("  Leave", leave))
	title := fmt.Sprintf("Sign in to box %s: %d of %d done", w.box.Name(), steps.Done, len(steps.Steps))
	return choice, w.ask(ctx, w.out, huh.NewSelect[string]().Title(title).
		Description(w.noticed("In any order; esc leaves. Come back later: the box is asked each time.\n")).Options(options...).Value(&choice))
}

// card shows one step until it is done after a run, or the user skips or leaves it. It returns the ID of the step to
// put the cursor on, or "" if no later step is left to do.
func (w *walk) card(ctx context.Context, steps signIns, id string) (string, error) {
	for {
		step := only(steps, id).Steps[0]
		choice := run
		if step.Done {
			choice = skip
		}
		err := w.askCard(ctx, step, &choice)
		switch {
		case errors.Is(err, errLeft):
			return id, nil
		case err != nil:
			return "", err
		case choice == skip:
			return next(steps, id), nil
		case choice == run:
			if err := w.do(ctx, step); err != nil {
				return "", err
			}
		}
		if steps, err = w.askSignIns(ctx, w.box); err != nil {
			return "", err
		}
		if s := only(steps, id).Steps[0]; choice == run && s.Done {
			w.report(signInLine(style{}, s))
			return next(steps, id), nil
		}
	}
}

// do does a step, and reports to the user if the step fails. It returns an error only if ctx has ended.
func (w *walk) do(ctx context.Context, step ops.SignIn) error {
	w.screen.clear()
	err := w.doSignIn(ctx, w.box, step)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && step.URL != "":
		w.report("opened: " + step.URL)
	case err != nil && w.screen == nil:
		w.printError("login", err)
	case err != nil:
		w.report("✗ " + w.shown(err.Error()))
		if hint := fault.HintOf(err); hint != "" && step.Setup != "" { // otherwise the hint is to run this step again
			w.notice += "hint: " + w.shown(hint) + "\n"
		}
	}
	w.screen.enter()
	return nil
}

// report keeps a line for the next form. In accessible mode it prints the line.
func (w *walk) report(line string) {
	if w.screen == nil {
		fmt.Fprintln(w.out, line)
		return
	}
	w.notice = line + "\n"
}

// noticed puts the notice in front of the text of a form, and clears it, so that it is shown once.
func (w *walk) noticed(text string) string {
	if w.notice != "" {
		text = w.notice + "\n" + text
		w.notice = ""
	}
	return text
}

func (w *walk) askCard(ctx context.Context, step ops.SignIn, choice *string) error {
	text := wrapped(w.typed(sanitize.Text(cardText(step))), w.out)
	if accessible() { // a form does not read out its description
		fmt.Fprintln(w.out, text)
	}
	does := "Run it here"
	if step.URL != "" {
		does = "Open it in the browser"
	}
	return w.ask(ctx, w.out, huh.NewSelect[string]().Title(signInLine(style{}, step)).Description(wrapped(w.noticed(text), w.out)).Value(choice).Options(
		huh.NewOption(does, run), huh.NewOption("Skip", skip), huh.NewOption("Check again", again)))
}

// cardText returns the purpose of a step and what it runs or opens.
func cardText(step ops.SignIn) string {
	does := "in the box: " + strings.Join(step.Command, " ")
	switch {
	case step.URL != "":
		does = "in the browser: " + step.URL
	case step.Setup != "":
		does = "on this machine: " + step.Type
	}
	if step.Ask != "" {
		does += "\nto see the token:\n" + step.Ask // a line of its own, so that it can be copied
	}
	return step.Why + "\n\n" + does + "\n"
}

// next returns the first step after id that is not done; "" if there is none.
func next(steps signIns, id string) string {
	behind := false
	for _, s := range steps.Steps {
		if behind && !s.Done {
			return s.ID
		}
		behind = behind || s.ID == id
	}
	return ""
}
