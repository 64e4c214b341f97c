package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes-box/guest/protocol"
	"hermes-box/internal/age"
	"hermes-box/ops"
	"hermes-box/tui"
	"hermes-box/tui/widget"
)

func (a *app) status() *cobra.Command {
	return &cobra.Command{
		Use: "status", GroupID: "look", Args: cobra.NoArgs,
		Short: "show the box and its components",
		Long:  "Show the box and its components. If the box runs, it is asked. If it is off, its last known state is shown,\nand how old that is.",
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.runStatus(cmd.Context()) },
	}
}

func (a *app) runStatus(ctx context.Context) error {
	b, err := a.openBox()
	if err != nil {
		return err
	}
	st, err := b.Status(ctx)
	if err != nil {
		return err
	}
	return a.result("status", st, func(p *printer) { statusText(p, st, time.Now()) })
}

func statusText(p *printer, st *ops.Status, now time.Time) {
	line := fmt.Sprintf("%s  %s", p.bold(st.Box), p.state(st.State))
	if g := st.Guest; g != nil {
		line += fmt.Sprintf("   %s %s", g.OS, g.Arch)
		if st.Live {
			line += "   up " + age.Format(time.Duration(g.Uptime)*time.Second)
		}
	}
	p.line("%s", line)
	if st.Cause != "" {
		p.line("%s", st.Cause)
	}
	if st.Repair != "" {
		p.line("  %s", p.dim("→ "+st.Repair))
	}
	if u := st.Underway; u != nil {
		p.line("%s %s", p.yellow("!"), u)
		p.line("  %s", p.dim("→ "+u.Repair))
	}
	if st.LockError != "" {
		p.line("%s %s", p.yellow("!"), st.LockError)
	}
	if st.Seen != nil {
		p.line("%s", p.dim("as last seen "+ago(*st.Seen, now)+":"))
	}
	if st.State == "absent" && st.Underway == nil {
		needs, not := "", ""
		if st.LockError != "" {
			needs, not = ", which needs the lock", ", which needs no lock"
		}
		p.line("to create it%s: hermes-box create", needs)
		if st.Kept == nil {
			p.line("to restore it from an exported backup%s: hermes-box restore FILE --identity KEYFILE", not)
		}
	}
	if k := st.Kept; k != nil {
		p.line("its newest backup was made %s", ago(k.Time, now))
		p.line("to restore it: hermes-box restore %s", k.ID)
	}
	for _, c := range st.Components {
		version := c.Applied
		if c.Desired != "" && c.Desired != c.Applied {
			version += " → " + c.Desired
		}
		state := p.state(c.State)
		if c.State == ops.NotAsked && c.Last != "" {
			state += p.dim(" (was " + tui.SignOf(c.Last).Word + ")")
		}
		if c.Drift != "" {
			state += "  " + p.state("drifted")
			if version == c.Applied { // the versions are the same: say what differs
				state += " (" + c.Drift + ")"
			}
		}
		p.line("  %-9s %-24s %s%s", c.Name, version, state, detail(c.Detail))
	}
	for _, d := range st.Platform {
		p.line("%s %s: %s is applied, %s is desired", p.yellow("!"), d.Name, orNone(d.From), orNone(d.To))
	}
	if g := st.Guest; g != nil && st.Live {
		p.line("  memory %s   root %s   data %s   load %.2f", usage(g.Memory), usage(g.Root), usage(g.Data), g.Load)
		if killed := ops.OutOfMemory(g); killed != "" {
			p.line("%s %s", p.yellow("!"), killed)
		}
	}
	if st.State != "absent" {
		p.line("  ports  executor %d   dashboard %d", st.Ports.Executor, st.Ports.Dashboard)
	}
	if skew := ops.SkewText(time.Duration(st.Skew * float64(time.Second))); skew != "" {
		p.line("%s the clock of the box is %s this machine's", p.yellow("!"), skew)
		p.line("  %s", p.dim("→ "+ops.ClockRepair))
	}
	scheduleProblem(p, st.Schedule)
	if st.Key != nil {
		p.line("%s %s", p.yellow("!"), st.Key.Warning)
		p.line("  %s", p.dim("→ "+st.Key.Repair))
	}
	for _, port := range st.PortProblems() {
		p.line("%s %s", p.yellow("!"), port.Problem())
		p.line("  %s", p.dim("→ "+port.Repair()))
	}
}

func components(p *printer, s *protocol.Status) {
	if s == nil {
		return
	}
	for _, c := range s.Components {
		p.line("  %-9s %-24s %s%s", c.Name, c.Applied, p.state(c.State), detail(c.Detail))
	}
}

// state returns the sign of a state in its colour, as on the dashboard.
func (s style) state(word string) string { return s.sign(tui.SignOf(word)) }

func (s style) sign(sign widget.Sign) string {
	code := map[widget.Tone]string{widget.Quiet: "2", widget.Good: "32", widget.AtWork: "34", widget.Warn: "33", widget.Bad: "31"}[sign.Tone]
	return s.paint(code, sign.String())
}

func detail(text string) string {
	if text == "" {
		return ""
	}
	return "  " + text
}

func usage(u protocol.Usage) string {
	return fmt.Sprintf("%.1f/%.1f GiB", float64(u.Used)/(1<<30), float64(u.Total)/(1<<30))
}

// ago formats how long ago something happened. If the time is more than a second in the future, because a clock was
// set back, ago returns the time itself and says that it is in the future.
func ago(at, now time.Time) string {
	if at.After(now.Add(time.Second)) {
		return "at " + at.Local().Format(time.DateTime) + ", which is in the future by this machine's clock"
	}
	return age.Format(now.Sub(at)) + " ago"
}
