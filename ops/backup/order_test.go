package backup

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
)

// day returns a time of 2020, so many days after January 1.
func day(n int) time.Time { return time.Date(2020, 1, 1+n, 0, 0, 0, 0, time.UTC) }

// The backup that was made last is the newest one, whatever the clock said when the others were made, and whatever it
// says now. Retention keeps it and deletes the others in the order in which they were made.
func TestOrderDoesNotDependOnTheClock(t *testing.T) {
	p, _ := newPool(t)
	var made []string
	for _, at := range []time.Time{day(5000), day(100), day(3), day(0), day(101)} {
		p.now = func() time.Time { return at }
		made = append(made, save(t, p, first(), Meta{Disk: "disk"}, nil, nil).ID)
	}
	for _, now := range []time.Time{day(0), day(101), day(5001)} {
		list, err := listAt(p.disk.dir, now)
		must(t, err)
		for i, e := range list {
			if e.ID != made[i] || e.Number != int64(i+1) {
				t.Errorf("on %s backup %d is %s with the number %d, want %s", now, i, e.ID, e.Number, made[i])
			}
		}
	}
	p.now = func() time.Time { return day(5001) }
	deleted, err := p.Prune(t.Context(), 2)
	if slices.Sort(deleted); err != nil || !slices.Equal(deleted, slices.Sorted(slices.Values(made[:3]))) {
		t.Errorf("deleted %v of %v, %v", deleted, made, err)
	}
	if e := save(t, p, first(), Meta{Disk: "disk"}, nil, nil); e.Number != 6 {
		t.Errorf("the next one has the number %d", e.Number)
	}
}

// The number outlives the loss of the envelope, and no later backup gets it.
func TestNumberOfADamagedEnvelope(t *testing.T) {
	p, _ := newPool(t)
	p.now = func() time.Time { return day(1) }
	save(t, p, first(), Meta{}, nil, nil)
	second := save(t, p, first(), Meta{}, nil, nil)
	must(t, os.Remove(p.disk.path(envelopeName(second.ID))))
	if third := save(t, p, first(), Meta{}, nil, nil); third.Number != 3 {
		t.Errorf("the next one has the number %d", third.Number)
	}
	_, err := p.Verify(t.Context(), second.ID, nil)
	must(t, err)
	if list, err := p.listed(); err != nil || list[1].Number != 2 || list[1].Imported {
		t.Errorf("%+v, %v", list, err)
	}
}

// An imported backup is placed by its time, but before those that were made after it was imported.
func TestOrderOfAnImportedBackup(t *testing.T) {
	from, _ := newPool(t)
	identity, err := age.GenerateX25519Identity()
	must(t, err)
	export := func(at time.Time) *bytes.Buffer {
		from.now = func() time.Time { return at }
		env := save(t, from, &forest{}, Meta{Disk: "other"}, nil, nil)
		var file bytes.Buffer
		must(t, Export(t.Context(), load(t, from, env.ID), &file, []age.Recipient{identity.Recipient()}, artifactDir(t.TempDir())))
		return &file
	}
	p, _ := newPool(t)
	place := func(at time.Time) string {
		p.now = func() time.Time { return at }
		return save(t, p, first(), Meta{Disk: "disk"}, nil, nil).ID
	}
	bring := func(at time.Time) string {
		file := export(at)
		p.now = func() time.Time { return day(40) }
		e, err := p.Import(t.Context(), file, nil, nil, identity)
		must(t, err)
		if !e.Imported {
			t.Errorf("%+v", e)
		}
		return e.ID
	}
	a, b := place(day(10)), place(day(20))
	between, last := bring(day(15)), bring(day(30))
	c := place(day(25)) // the clock was put back
	list, err := listAt(p.disk.dir, day(40))
	must(t, err)
	var ids []string
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	if want := []string{a, between, b, last, c}; !slices.Equal(ids, want) {
		t.Errorf("%v, want %v", ids, want)
	}
}

// Backups of an earlier version have no number: they are sorted by their times, before all others.
func TestOrderWithoutNumbers(t *testing.T) {
	env := func(at time.Time, number int64) Envelope {
		return Envelope{ID: newID(at, ""), Time: at, Number: number}
	}
	want := []Envelope{env(day(500), 0), env(day(1), 0), env(day(7), 0), env(day(5), 1), env(day(2), 2)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		list := slices.Clone(want)
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if got := sorted(list, day(8)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	damaged := *unusable(newID(day(3), ""), os.ErrNotExist)
	if got := sorted(append(slices.Clone(want[3:]), damaged), day(8)); got[0].ID != damaged.ID {
		t.Errorf("%v", got)
	}
}

// WrongClock notices times that contradict the order, and a newest backup in the future.
func TestWrongClock(t *testing.T) {
	of := func(days ...int) (list []Envelope) {
		for _, d := range days {
			list = slices.Insert(list, 0, Envelope{ID: newID(day(d), ""), Time: day(d)}) // newest first
		}
		return list
	}
	for _, c := range []struct {
		list []Envelope
		want string
	}{
		{nil, ""}, {of(1), ""}, {of(1, 2), ""}, {of(9, 2), "1 earlier backup, such as 20200110T000000Z, has a later time"},
		{of(9, 8, 2), "2 earlier backups, such as"}, {of(1, 9), "20200110T000000Z was made last, and its time is in the future"},
	} {
		if got := WrongClock(c.list, day(3)); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q", c.list, got, c.want)
		}
	}
}
