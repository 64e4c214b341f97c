package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// portalBound is the timeout of portal, which asks the box whether it runs.
const portalBound = 10 * time.Second

type portalMsg struct {
	url  string
	seen bool // a browser was started
	err  error
}

// portal opens Executor's page or, if hermes is selected, Hermes's page in the browser of this machine.
func (m *model) portal() tea.Cmd {
	service := "executor"
	if c, ok := m.selected(); ok && c.Name == "hermes" {
		service = "dashboard"
	}
	return m.tasks.do(func() tea.Msg {
		ctx, cancel := m.bound(portalBound)
		defer cancel()
		url, err := m.box.Open(ctx, service)
		if err != nil {
			return portalMsg{err: err}
		}
		return portalMsg{url, m.browse != nil && m.browse(url) == nil, nil}
	})
}

// opened shows the address, even if a browser was started, since the browser may be on another machine.
func (m *model) opened(msg portalMsg) tea.Cmd {
	switch {
	case msg.err != nil:
		m.fail(&failure{err: msg.err, what: "open"})
		return nil
	case msg.seen:
		m.note = "opened in the browser: " + msg.url
		return nil
	}
	cmd := m.copy(msg.url)
	m.note = "open " + msg.url + " in a browser (it is copied, if the terminal allows)"
	return cmd
}

// whyNoPortal returns why there is no page to open; empty if there is one.
func whyNoPortal(m *model) string {
	return m.whyOff()
}
