package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"charm.land/huh/v2"

	"hermes-box/ops"
)

// Answers of the walkthrough that are no step.
const (
	leave = "leave"
	again = "again"
	run   = "run"
	skip  = "skip"
)

// walk is the walkthrough: a list of the steps, and a card for each, until the person leaves.
func (a *app) walk(ctx context.Context, b *ops.Box) error {
	at := "" // the step the person is at
	for {
		steps, err := a.lookAtSignIns(ctx, b)
		if err != nil {
			return err
		}
		choice, err := a.chooseSignIn(ctx, b, steps, at)
		if errors.Is(err, errLeft) || choice == leave {
			return a.result("login", steps, func(p *printer) { signInsText(p, steps) })
		}
		if err != nil {
			return err
		}
		if choice == again {
			continue
		}
		if at, err = a.signInCard(ctx, b, steps, choice); err != nil {
			return err
		}
	}
}

// chooseSignIn shows the list. The cursor is on the step at, or on the first that is to be done.
func (a *app) chooseSignIn(ctx context.Context, b *ops.Box, steps signIns, at string) (string, error) {
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
	options = append(options, huh.NewOption("  Look again", again), huh.NewOption("  Leave", leave))
	title := fmt.Sprintf("Sign in to box %s: %d of %d done", b.Name(), steps.Done, len(steps.Steps))
	return choice, a.ask(ctx, a.out, huh.NewSelect[string]().Title(title).
		Description("In any order; esc leaves. Come back any day: the box is asked each time.\n").Options(options...).Value(&choice))
}

// signInCard shows one step until it is run or skipped, and returns the step to go on with.
func (a *app) signInCard(ctx context.Context, b *ops.Box, steps signIns, id string) (string, error) {
	for {
		step := only(steps, id).Steps[0]
		choice := run
		if step.Done {
			choice = skip
		}
		err := a.askCard(ctx, step, &choice)
		switch {
		case errors.Is(err, errLeft):
			return id, nil
		case err != nil:
			return "", err
		case choice == skip:
			return next(steps, id), nil
		case choice == run:
			if err := a.doSignIn(ctx, b, step); ctx.Err() != nil {
				return "", ctx.Err()
			} else if err != nil {
				a.printError("login", err)
			}
		}
		if steps, err = a.lookAtSignIns(ctx, b); err != nil {
			return "", err
		}
		if s := only(steps, id).Steps[0]; choice == run && s.Done {
			p := &printer{style: style{a.colored(a.out)}}
			fmt.Fprintln(a.out, signInLine(p.style, s))
			return next(steps, id), nil
		}
	}
}

func (a *app) askCard(ctx context.Context, step ops.SignIn, choice *string) error {
	text := wrapped(a.typed(cardText(step)), a.out)
	if accessible() { // a form reads out no description
		fmt.Fprintln(a.out, text)
	}
	does := "Run it here"
	if step.URL != "" {
		does = "Open it in the browser"
	}
	return a.ask(ctx, a.out, huh.NewSelect[string]().Title(signInLine(style{}, step)).Description(text).Value(choice).Options(
		huh.NewOption(does, run), huh.NewOption("Skip", skip), huh.NewOption("Check again", again)))
}

// cardText is why the step is there and what exactly is done.
func cardText(step ops.SignIn) string {
	does := "in the box: " + strings.Join(step.Command, " ")
	switch {
	case step.URL != "":
		does = "in the browser: " + step.URL
	case step.Setup != "":
		does = "on this machine: " + step.Type
	}
	if step.Ask != "" {
		does += "\nits token is shown by\n" + step.Ask // a line of its own, so that it can be copied
	}
	return step.Why + "\n\n" + does + "\n"
}

// next is the step that comes behind one and is to be done; "" where all behind it are.
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
