package simulate

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hermes-box/guest/machine"
)

// journal returns the path of the log of all units.
func (s *Machine) journal() string { return filepath.Join(s.root, "var/log/journal.log") }

// note writes a line about a unit to the log. It ignores errors.
func (s *Machine) note(unit, format string, args ...any) {
	if os.MkdirAll(filepath.Dir(s.journal()), 0o755) != nil {
		return
	}
	f, err := os.OpenFile(s.journal(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s demo %s: %s\n", time.Now().Format("2006-01-02T15:04:05-0700"), strings.TrimSuffix(unit, ".service"), fmt.Sprintf(format, args...))
}

// journalctl prints the last lines about the requested units. With --follow it continues until ctx ends.
func (s *Machine) journalctl(ctx context.Context, c machine.Cmd) error {
	lines, follow := 10, false
	var units []string
	for i, arg := range c.Args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok && i+1 < len(c.Args) {
			value = c.Args[i+1]
		}
		switch name {
		case "--lines":
			if n, err := strconv.Atoi(value); err == nil {
				lines = n
			}
		case "--unit":
			units = append(units, strings.TrimSuffix(value, ".service"))
		case "--follow":
			follow = true
		}
	}
	out := c.Stdout
	if out == nil {
		out = io.Discard
	}
	var shown int
	for {
		all := s.journalOf(units)
		if shown == 0 {
			shown = max(0, len(all)-lines)
		}
		for ; shown < len(all); shown++ {
			if _, err := io.WriteString(out, all[shown]); err != nil {
				return err
			}
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// UnitLog returns the last lines of a unit's log.
func (s *Machine) UnitLog(_ context.Context, unit string) string {
	lines := s.journalOf([]string{strings.TrimSuffix(unit, ".service")})
	return strings.Join(lines[max(0, len(lines)-15):], "")
}

func (s *Machine) journalOf(units []string) (lines []string) {
	data, _ := os.ReadFile(s.journal())
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 2 && strings.HasSuffix(line, "\n") && slices.Contains(units, strings.TrimSuffix(f[2], ":")) {
			lines = append(lines, line)
		}
	}
	return lines
}
