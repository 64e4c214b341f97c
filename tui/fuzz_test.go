package tui

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes-box/guest/protocol"
	"hermes-box/guest/protocol/tree"
	"hermes-box/ops"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
)

// anyKeys returns the keys of all bindings, and some keys without a binding.
func anyKeys() (all []tea.KeyPressMsg) {
	for _, b := range bindings() {
		for _, k := range b.keys {
			if k != "shift+tab" && k != "ctrl+z" {
				all = append(all, key(k))
			}
		}
	}
	for _, k := range []string{"y", "n", "Y", "h", "left", "right", "tab", "up", "backspace", "x", "é", "世", "ctrl+u", "ctrl+a", "0", "9"} {
		all = append(all, key(k))
	}
	return append(all, tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}, tea.KeyPressMsg{Code: tea.KeyF12}, tea.KeyPressMsg{}, tea.KeyPressMsg{Code: -1, Text: "\x1b[31m"})
}

// anyText returns one of several harmless and hostile texts that a box may send.
func anyText(r *rand.Rand) string {
	texts := []string{"", "ok", "\x1b]52;c;eA==\x07\x1b[2J\x1b[6n", "a\u202eb\u2066c\u200bd\u061c", "\x1b]8;;x\x1b\\link\x1b]8;;\x1b\\", "\u009b31mC1\u0090q\u009c",
		"bad \xff\xfe\xc3 bytes", "\r\n\r\nlines\n\n\tand a tab", "世界世界世界👩‍👩‍👧‍👦🇩🇪é\u0301\u0301\u0301\u0301", "\x1bP+q544e\x1b\\\x05\x07\x0e\x7f", "\u2028\u2029",
		"{\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"log\",\"line\":\"\\u001b[2J\"}", "hermes-box \x1b[", strings.Repeat("long ", 3000), strings.Repeat("\u0301", 500), strings.Repeat("世", 700)}
	return texts[r.IntN(len(texts))]
}

func anyStatus(r *rand.Rand) *ops.Status {
	states := []string{"running", "stopped", "degraded", "starting", "absent", "", anyText(r)}
	st := runningStatus()
	st.State, st.Cause, st.Busy, st.LockError, st.Live = states[r.IntN(len(states))], anyText(r), anyText(r), anyText(r), r.IntN(2) == 0
	if r.IntN(4) == 0 {
		st.Busy = "create (pid 1) under way"
	}
	g := st.Guest
	g.OS, g.Arch, g.Now, g.Uptime, g.Load, g.CPUs = anyText(r), anyText(r), anyText(r), r.Int64()-r.Int64(), r.Float64()*1e9-5, r.IntN(3)-1
	g.Memory = protocol.Usage{Used: r.Int64() - r.Int64(), Total: r.Int64() - r.Int64()}
	for i := range st.Components {
		c := &st.Components[i]
		c.State, c.Detail, c.Applied, c.Desired, c.Service, c.Previous, c.Since = anyText(r), anyText(r), anyText(r), anyText(r), anyText(r), anyText(r), r.Int64()-r.Int64()
	}
	if r.IntN(4) == 0 {
		st.Components = st.Components[:r.IntN(len(st.Components))]
	}
	if r.IntN(5) == 0 {
		st.Guest, st.Components = nil, nil
	}
	st.Platform = []ops.Drifted{{Name: anyText(r), From: anyText(r), To: anyText(r)}}
	return st
}

func anyError(r *rand.Rand) error {
	return []error{nil, errors.New(anyText(r)), fault.New(fault.Interrupted, "%s", anyText(r)), fault.New(fault.HealthFailed, "%s", anyText(r)).Hint("%s", anyText(r)), &exec.ExitError{}}[r.IntN(5)]
}

func anyEvent(r *rand.Rand, m *model) ops.Event {
	kinds := []ops.Kind{ops.Planned, ops.Started, ops.Bytes, ops.Phase, ops.Log, ops.Warning, ops.Done, ops.Failed, ops.Undoing, ops.Undone, ops.Finished}
	steps := []string{"fetch", "upload", "install", "boot", "", anyText(r)}
	components := []string{"node", "codex", "", anyText(r)}
	e := ops.Event{Time: m.now(), Kind: kinds[r.IntN(len(kinds))], Step: steps[r.IntN(len(steps))], Title: anyText(r), Line: anyText(r), Error: anyText(r),
		Component: components[r.IntN(len(components))], Phase: []string{"stage", "smoke", "", anyText(r)}[r.IntN(4)], State: []string{"started", "done", "failed", anyText(r)}[r.IntN(4)],
		Done: r.Int64() - r.Int64(), Total: r.Int64() - r.Int64(), Seconds: r.Float64() * 1e12}
	for _, s := range steps[:r.IntN(len(steps)+1)] {
		e.Steps = append(e.Steps, ops.StepInfo{ID: s, Title: anyText(r), Phase: anyText(r), Software: r.IntN(2) == 0})
	}
	return e
}

func anyCheck(r *rand.Rand) ops.Check {
	return ops.Check{ID: anyText(r), Title: anyText(r), Verdict: []ops.Verdict{ops.Pass, ops.Warn, ops.Fail, ops.Unknown, ""}[r.IntN(5)], Evidence: anyText(r), Repair: anyText(r)}
}

// anyMessage returns a random message that the dashboard may receive in its present state.
func anyMessage(r *rand.Rand, m *model, keys []tea.KeyPressMsg) tea.Msg {
	ended, err := r.IntN(6) == 0, anyError(r)
	switch n := r.IntN(40); n {
	case 0, 1:
		return tea.WindowSizeMsg{Width: r.IntN(200) - 1, Height: r.IntN(60) - 1}
	case 2:
		return tea.WindowSizeMsg{Width: 80, Height: 24}
	case 3:
		return tea.PasteMsg{Content: anyText(r)}
	case 4:
		return tea.MouseClickMsg{X: r.IntN(300) - 10, Y: r.IntN(100) - 10, Button: tea.MouseLeft}
	case 5:
		return tea.MouseWheelMsg{Button: []tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown}[r.IntN(2)]}
	case 6:
		return []tea.Msg{tea.FocusMsg{}, tea.BlurMsg{}, tea.ResumeMsg{}}[r.IntN(3)]
	case 7:
		k := m.box.Known()
		k.Exists, k.Ready = r.IntN(3) > 0, r.IntN(3) > 0
		if k.Status = anyStatus(r); r.IntN(4) == 0 {
			k.Lock = nil
		}
		k.Backups, k.Created = anyBackups(r, m.now()), m.now().Add(-time.Duration(r.Int64N(1<<50)))
		if r.IntN(8) == 0 {
			k.BackupsErr = anyError(r)
		}
		if r.IntN(8) == 0 {
			k = Known{Err: anyError(r)}
		}
		return knownMsg{k}
	case 8, 9:
		if r.IntN(3) == 0 {
			return statusMsg{nil, err, m.now(), m.now()}
		}
		return statusMsg{anyStatus(r), nil, m.now(), m.now()}
	case 10:
		return tickMsg{m.poll.turn}
	case 11, 12, 13:
		if m.op != nil && !m.op.ended {
			return batch[ops.Event]{from: m.op.feed, items: []ops.Event{anyEvent(r, m), anyEvent(r, m), anyEvent(r, m)}, ended: ended, err: err}
		}
	case 14:
		if f := m.doctor.checks.feed; f != nil {
			return batch[ops.Check]{from: f, items: []ops.Check{anyCheck(r), anyCheck(r)}, ended: ended, err: err}
		}
	case 15:
		if f := m.first.checks.feed; f != nil {
			return batch[ops.Check]{from: f, items: []ops.Check{anyCheck(r)}, ended: ended, err: err}
		}
	case 16, 17:
		if f := m.logs.feed; f != nil {
			lines := make([]string, r.IntN(40))
			for i := range lines {
				lines[i] = readable(anyText(r))
			}
			return batch[string]{from: f, items: lines, ended: ended, err: err}
		}
	case 18:
		return rereadMsg{m.logs.turn}
	case 19:
		return portalMsg{url: "http://127.0.0.1:4788/", seen: ended, err: err}
	case 20:
		if m.attaching != nil {
			return attachMsg{exec.Command("true"), func() {}, err}
		}
	case 21:
		return detachMsg{err, ended, anyText(r)}
	case 22:
		return signedInMsg{err}
	case 23:
		if m.op != nil {
			return pulseMsg{m.op.pulse}
		}
	case 24:
		shown := &ops.BackupShown{}
		for range r.IntN(40) {
			name := anyText(r)
			shown.Files = append(shown.Files, ops.BackupFile{Name: name, Path: []byte(name), Type: []tree.Type{tree.Dir, tree.File, tree.Symlink}[r.IntN(3)],
				Mode: r.Uint32(), Size: r.Int64() - r.Int64(), MTime: r.Int64() - r.Int64()})
		}
		return filesMsg{m.files.of.ID, shown, err}
	case 25:
		if m.dialog != nil {
			return neededMsg{m.dialog, anyText(r), ended, err}
		}
	}
	return keys[r.IntN(len(keys))]
}

// anyBackups returns up to three backups with envelopes that a damaged disk may hold.
func anyBackups(r *rand.Rand, now time.Time) (all []backup.Envelope) {
	for range r.IntN(4) {
		e := backup.Envelope{ID: anyText(r), Label: anyText(r), Box: anyText(r), Arch: anyText(r), Digest: anyText(r), Recipients: []string{anyText(r), anyText(r)},
			Entries: r.IntN(1 << 30), Bytes: r.Int64() - r.Int64(), Added: r.Int64() - r.Int64(), Problems: r.IntN(3),
			Time: now.Add(-time.Duration(r.Int64())), Verified: now.Add(-time.Duration(r.Int64())), OldestRead: now.Add(-time.Duration(r.Int64()))}
		switch r.IntN(4) {
		case 0:
			e.Failed = anyText(r)
		case 1:
			e = backup.Envelope{ID: anyText(r), Damaged: anyText(r) + "damaged"}
		}
		all = append(all, e)
	}
	return all
}

var ownColour = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// walk sends random messages to a dashboard and checks each frame. At the end q must quit.
func walk(t *testing.T, seed uint64, steps int) {
	r := rand.New(rand.NewPCG(seed, 7))
	f := []*fake{withStatus(runningStatus()), noBox(), withStatus(off("stopped")), withStatus(off("degraded"))}[r.IntN(4)]
	f.known.Status = anyStatus(r)
	m := testModel(f, 80, 24)
	defer m.tasks.wg.Wait()
	defer m.stop()
	now := noon
	m.now = func() time.Time { return now }
	m.ascii = r.IntN(4) == 0
	keys := anyKeys()
	var last tea.Msg
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("seed %d: panic %v at %T %+v in view %d", seed, p, last, last, m.view)
			panic(p)
		}
	}()
	checkFrame := func() {
		frame := m.frame()
		lines := strings.Split(frame, "\n")
		if m.w > 0 && m.h > 0 && len(lines) > m.h {
			t.Fatalf("seed %d: %d lines of %d after %+v", seed, len(lines), m.h, last)
		}
		for _, line := range lines {
			if n := ansi.StringWidth(line); n > max(m.w, 0) {
				t.Fatalf("seed %d: %d cells of %d after %T in view %d: %q", seed, n, m.w, last, m.view, line)
			}
			if rest := ownColour.ReplaceAllString(line, ""); strings.ContainsFunc(rest, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }) {
				t.Fatalf("seed %d: the terminal would act on %q, after %T in view %d", seed, rest, last, m.view)
			}
		}
	}
	for range steps {
		last = anyMessage(r, m, keys)
		now = now.Add(time.Duration(r.IntN(3000)-100) * time.Millisecond)
		m.update(last)
		checkFrame()
		if m.ctx.Err() != nil { // it has quit
			return
		}
	}
	// q quits from whatever is on the screen.
	m.update(sized(80, 24))
	for range 12 {
		now = now.Add(2 * time.Second)
		for _, k := range []string{"esc", "esc", "esc", "q", "y"} {
			last = key(k)
			m.update(last)
			checkFrame()
			if m.ctx.Err() != nil {
				return
			}
		}
		if m.attaching != nil {
			m.update(attachMsg{err: errGivenUp, cancel: func() {}})
		}
	}
	t.Fatalf("seed %d: q does not quit:\n%s", seed, screen(m))
}

// With random messages in random order, no frame is larger than the terminal, no text from the box controls the
// terminal, and q quits.
func TestRandomMessages(t *testing.T) {
	seeds := 20
	if testing.Short() {
		seeds = 8
	}
	for seed := range uint64(seeds) {
		walk(t, seed, 120)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { walk(t, seed, 400) })
}
