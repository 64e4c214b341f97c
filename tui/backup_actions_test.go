package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/tui/widget"
)

// If what was typed is refused, the question is shown again with the typed text and the reason. It ignores keys that were
// typed before the reason could be read, and can then be answered again.
func TestRefusedTextsStay(t *testing.T) {
	for _, c := range []struct{ name, keys, again, shows, asked string }{
		{"export", "B w x enter", "y enter", ".hermes-boxx", ".hermes-boxxy"},
		{"get", "B f a p i enter x enter", "y enter", "  path  /workspace/api", "/workspace/api:/srv/me/xy"},
		{"get of a file", "B enter f x enter", "y enter", "> x ", ":.:/srv/me/xy"},
		{"restore", "i x enter k enter", "y enter", "> k", "restore:/srv/me/x:/srv/me/ky"},
		{"restore with a passphrase", "i l o c k e d enter a b enter", "y enter", "> **", "restore:/srv/me/locked:aby"},
	} {
		f := withBackups(envelope(2*time.Hour, ""))
		if strings.HasPrefix(c.name, "restore") {
			f = noBox()
		}
		f.refuse = fault.New(fault.InvalidInput, "there is no directory /nowhere").Hint("mkdir -p /nowhere")
		m := on(f)
		now := noon
		m.now = func() time.Time { return now }
		for _, k := range strings.Fields(c.keys) {
			drain(m, press(m, k))
		}
		drain(m, press(m, "enter")) // too early
		s := screen(m)
		for _, want := range []string{c.shows, "! there is no directory /nowhere", "hint: mkdir -p /nowhere"} {
			if !strings.Contains(s, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, s)
			}
		}
		f.refuse, now = nil, now.Add(widget.Pause)
		for _, k := range strings.Fields(c.again) {
			drain(m, press(m, k))
		}
		if !f.did(c.asked) || m.op == nil || m.op.err != nil {
			t.Errorf("%s: the question cannot be answered again: %v\n%s", c.name, f.asked, screen(m))
		}
	}
}

// The commands in a question and in a warning act on the box of the dashboard.
func TestCommandsInTextsAreTyped(t *testing.T) {
	m := on(withBackups(envelope(2*time.Hour, "")))
	m.typed = func(text string) string {
		return strings.ReplaceAll(text, "hermes-box key", "hermes-box --config x key")
	}
	press(m, "B", "w")
	for range 2 {
		if s := strings.Join(strings.Fields(strings.ReplaceAll(screen(m), "│", " ")), " "); !strings.Contains(s, "hermes-box --config x key export FILE") {
			t.Error(screen(m))
		}
		drain(m, press(m, "enter"))
	}
}

// After the work has begun, a failure counts as refused only if a path cannot be written. Any other failure stays on the
// screen with the steps, since what was typed is not its cause.
func TestLateFailureIsNotRefused(t *testing.T) {
	o := &operation{verb: verb{name: "export", form: &question{}}, feed: newFeed(mergeEvents)}
	o.apply(ops.Event{Kind: ops.Planned, Steps: []ops.StepInfo{{ID: "open"}, {ID: "write"}}})
	o.apply(ops.Event{Kind: ops.Done, Step: "open"})
	for err, want := range map[error]bool{errors.New("no space left"): false, fmt.Errorf("create: %w", fs.ErrPermission): true} {
		if o.finish(err, noon); o.refused() != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}

// A question that waits for its check ignores keys, and can be closed; the result of the check is then dropped.
func TestQuestionIgnoresKeysUntilChecked(t *testing.T) {
	m := on(noBox())
	press(m, "i", "x")
	checked := press(m, "enter")
	press(m, "y", "enter")
	if s := screen(m); !strings.Contains(s, "> x ") {
		t.Errorf("a key acts while the file is checked:\n%s", s)
	}
	press(m, "esc")
	if drain(m, checked); m.dialog != nil {
		t.Error(screen(m))
	}
}

// A question that asks for a path of this machine shows the absolute path that will be read or written, before it
// begins.
func TestPathsAreShownAbsolute(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	first := envelope(2*time.Hour, "one")
	for _, c := range []struct {
		keys, want string
		box        *fake
	}{
		{"B w", "writes /srv/me/" + first.ID + ".hermes-box", withBackups(first)},
		{"B w ctrl+u ~ / x", "writes /home/me/x", withBackups(first)},
		{"B w ctrl+u / x", "writes /x", withBackups(first)},
		{"B w ctrl+u", "", withBackups(first)},
		{"B f a p i", "makes /srv/me/api", withBackups(first)},
		{"B f a p i enter o u t", "makes /srv/me/out/api", withBackups(first)},
		{"B f a p i enter ~", "makes /home/me/api", withBackups(first)},
		{"B f ctrl+u ~ enter o", "makes /srv/me/o/agent", withBackups(first)},
		{"B f ctrl+u / e t c", "copies into /srv/me", withBackups(first)},
		{"B enter / n o t e enter f o", "makes /srv/me/o/note s.txt", withBackups(first)},
		{"B t", "restored into /srv/home/drills/main/files", withBackups(first)},
		{"i x", "reads /srv/me/x", noBox()},
		{"i x enter k", "reads /srv/me/k", noBox()},
	} {
		m := on(c.box)
		for _, k := range strings.Fields(c.keys) {
			drain(m, press(m, k))
		}
		s := screen(m)
		if !strings.Contains(s, c.want) || c.want == "" && strings.Contains(s, "writes /") {
			t.Errorf("%s: no %q in\n%s", c.keys, c.want, s)
		}
	}
}
