package tui

import (
	"slices"
	"strings"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/ops/lock"
	"hermes-box/tui/widget"
)

// grid holds the state of each phase of each component, as the protocol names it: grid[component][phase].
type grid map[string]map[string]string

// phases are the columns of the grid. Steps of the plan fill the first two, the guest's events the others.
var phases = []string{ops.PhaseVerify, protocol.PhaseUpload, protocol.PhaseStage, protocol.PhaseSmoke, protocol.PhaseActivate, protocol.PhaseHealth}

// newGrid returns a grid with an empty row for each component.
func newGrid() grid {
	g := grid{}
	for _, name := range lock.Order {
		g[name] = map[string]string{}
	}
	return g
}

// set fills a cell from a guest event.
func (g grid) set(component, phase, state string) {
	if g[component] == nil {
		g[component] = map[string]string{}
	}
	g[component][phase] = state
}

// fill sets a whole column, for a step that handles all components at once.
func (g grid) fill(phase, state string) {
	for _, row := range g {
		row[phase] = state
	}
}

// end marks all running phases as undone.
func (g grid) end() {
	for _, row := range g {
		for phase, state := range row {
			if state == protocol.Started {
				row[phase] = protocol.Undone
			}
		}
	}
}

// used returns the phases that have a cell with a state.
func (g grid) used() []string {
	return slices.DeleteFunc(slices.Clone(phases), func(phase string) bool {
		for _, row := range g {
			if row[phase] != "" {
				return false
			}
		}
		return true
	})
}

// columnWidth returns the width of a column of the grid.
func columnWidth(phase string) int { return max(len(phase)+2, 7) }

// head draws the names of the columns.
func (g grid) head(p page, columns []string) string {
	var head strings.Builder
	for _, phase := range columns {
		head.WriteString(widget.Fit(phase, columnWidth(phase)))
	}
	return p.Dim.Render(strings.TrimRight(head.String(), " "))
}

// lines draws the grid with its heading in w cells; nil if there are no columns.
func (g grid) lines(p page, columns []string, w int) []string {
	if g == nil || len(columns) == 0 {
		return nil
	}
	const nameW = 11
	out := []string{widget.Fit(p.Title.Render(widget.Fit("software", nameW))+g.head(p, columns), w)}
	for _, name := range lock.Order {
		line := widget.Fit("  "+name, nameW)
		if state := g[name][columns[0]]; len(columns) == 1 && state != "" { // there is room for words
			out = append(out, widget.Fit(line+p.state(state), w))
			continue
		}
		for _, phase := range columns {
			line += widget.Fit(cell(p, g[name][phase]), columnWidth(phase))
		}
		out = append(out, widget.Fit(line, w))
	}
	return out
}

func cell(p page, state string) string {
	switch state {
	case "":
		return p.Dim.Render("  ·")
	case protocol.Done, protocol.Healthy:
		return p.Good.Render("  ✓")
	case protocol.SetupRequired:
		return p.Warn.Render("  ◦")
	case protocol.Skipped:
		return p.Dim.Render("  –")
	case protocol.Failed:
		return p.Bad.Render("  ✗")
	case protocol.Undone:
		return p.Warn.Render("  ↩")
	}
	return p.Info.Render("  ▸")
}
