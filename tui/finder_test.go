package tui

import (
	"slices"
	"strings"
	"testing"

	"hermes-box/ops"
)

// The palette finds actions by synonyms. For an action that this version does not have, it shows what to do instead.
func TestPaletteSynonyms(t *testing.T) {
	for query, want := range map[string]string{
		"restart": "▸ R ", "reboot": "▸ R ", "shutdown": "▸ S ", "delete": "▸ X ", "ssh": "▸ a ", "login": "▸ w ",
		"upgrade": "drift (v) shows what the lock changes", "update": "drift (v) shows what the lock changes",
		"backup": "make a verified backup", "restore": "▸ B ", "snapshot": "make a verified backup",
	} {
		m := on(withStatus(runningStatus()))
		press(m, append([]string{":"}, strings.Split(query, "")...)...)
		if s := screen(m); !strings.Contains(s, want) {
			t.Errorf("%s does not find %q:\n%s", query, want, s)
		}
	}
}

// Every runnable operation is offered, with or without a key.
func TestEveryOperationIsOffered(t *testing.T) {
	for _, o := range ops.Operations() {
		offered := slices.ContainsFunc(bindings(), func(b binding) bool { return b.id == o.Name })
		if offered != o.Runnable() {
			t.Errorf("%s is offered: %v", o.Name, offered)
		}
	}
}

// After a key that does nothing here, the dashboard suggests the key that may have been meant.
func TestDidYouMeanTheKey(t *testing.T) {
	m := on(withStatus(runningStatus()))
	for key, want := range map[string]string{"L": "did you mean l logs?", "x": "cancel: not in this view", "Q": "did you mean q quit?", "§": "? lists the keys"} {
		if press(m, key); !strings.Contains(m.note, want) {
			t.Errorf("%s: %q, want %q", key, m.note, want)
		}
	}
}
