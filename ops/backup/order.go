package backup

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hermes-box/internal/spell"
)

// ahead is how far in the future the time of a backup may be. A time further ahead is that of a wrong clock.
const ahead = 24 * time.Hour

// sorted sorts backups, oldest first. Those that were made here have numbers, and are sorted by them, since the clock may
// have been wrong. Each other one is placed by its time: before the first of the numbered ones that is later. An imported
// backup also comes before those that were made after it was imported, and a backup of an earlier version, which has no
// number, before all numbered ones. Of these others, one whose time is more than a day ahead comes first.
func sorted(list []Envelope, now time.Time) []Envelope {
	var numbered, others []Envelope
	for _, e := range list {
		if e.Number > 0 && !e.Imported {
			numbered = append(numbered, e)
		} else {
			others = append(others, e)
		}
	}
	slices.SortFunc(numbered, func(a, b Envelope) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.ID, b.ID))
	})
	wrong := func(e Envelope) bool { return e.Time.After(now.Add(ahead)) }
	place := func(e Envelope) int {
		last := e.Number
		if e.Damaged != "" {
			last = math.MaxInt64 // the number is not known
		}
		if wrong(e) {
			return 0
		}
		if i := slices.IndexFunc(numbered, func(n Envelope) bool { return n.Number > last || n.Time.After(e.Time) }); i >= 0 {
			return i
		}
		return len(numbered)
	}
	slices.SortFunc(others, func(a, b Envelope) int {
		if c := cmp.Compare(place(a), place(b)); c != 0 {
			return c
		}
		if x, y := wrong(a), wrong(b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	all := make([]Envelope, 0, len(list))
	for i := 0; i <= len(numbered); i++ {
		for len(others) > 0 && place(others[0]) == i {
			all, others = append(all, others[0]), others[1:]
		}
		if i < len(numbered) {
			all = append(all, numbered[i])
		}
	}
	return all
}

// nextNumber returns the number for a new backup.
func (p *Pool) nextNumber(ctx context.Context) (int64, error) {
	list, err := p.listed()
	if err != nil {
		return 0, err
	}
	last := int64(0)
	for _, e := range list {
		if e.Damaged != "" {
			if b, err := p.outline(ctx, &Envelope{ID: e.ID, Repairable: true}); err == nil {
				e.Number = b.Number
			}
		}
		last = max(last, e.Number)
	}
	return last + 1, ctx.Err()
}

// early is how far in the future the time of a backup may be without a warning.
const early = time.Minute

// WrongClock says why the times in a list of backups, newest first, cannot be right: the first one is in the future, or
// later ones in the list have later times. It returns "" if they can.
func WrongClock(list []Envelope, now time.Time) string {
	if len(list) == 0 {
		return ""
	}
	newest := list[0]
	if newest.Time.After(now.Add(early)) {
		return fmt.Sprintf("backup %s was made last, and its time is in the future: a clock is or was wrong", newest.ID)
	}
	later := slices.DeleteFunc(slices.Clone(list), func(e Envelope) bool { return !e.Time.After(newest.Time) })
	if len(later) == 0 {
		return ""
	}
	have := "have"
	if len(later) == 1 {
		have = "has"
	}
	return fmt.Sprintf("backup %s was made last, although %s, such as %s, %s a later time: a clock was wrong", newest.ID,
		spell.Count(len(later), "earlier backup"), later[len(later)-1].ID, have)
}
