package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func sized(w, h int) tea.Msg { return tea.WindowSizeMsg{Width: w, Height: h} }

func BenchmarkFrame(b *testing.B) {
	for _, s := range scenes() {
		b.Run(s.name, func(b *testing.B) {
			m := s.make(120, 40)
			for b.Loop() {
				m.frame()
			}
		})
	}
}
