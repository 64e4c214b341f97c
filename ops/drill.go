package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hermes-box/internal/spell"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// Drill is the report of a drill: a backup was restored as a trial, and the copy was compared with it and removed.
type Drill struct {
	Backup      string    `json:"backup"`
	Box         string    `json:"box"`
	Into        string    `json:"into"` // "files": a directory of this machine; "box": a throw-away box
	Begun       time.Time `json:"begun"`
	Ended       time.Time `json:"ended"`
	Entries     int       `json:"entries"`      // files compared
	Bytes       int64     `json:"bytes"`        // of data compared
	Manifest    string    `json:"manifest"`     // digest of the manifest in the backup
	Expected    string    `json:"expected"`     // sha256 of the compared parts, computed from the backup
	Found       string    `json:"found"`        // the same, computed from the restored files
	Compared    []string  `json:"compared"`     // the parts of each file that were compared
	NotCompared []string  `json:"not_compared"` // the parts that were not compared, and why
	Missing     int       `json:"missing"`      // files that the backup does not have, because they could not be read
	Differences []string  `json:"differences"`  // at most 100
	Different   int       `json:"different"`    // number of differences
	// Software are the components of the throw-away box, which has no network. Problem says why one of them is not
	// healthy; it is empty if all are.
	Software []DrilledComponent `json:"software,omitempty"`
	Problem  string             `json:"problem,omitempty"`
	Report   string             `json:"report"` // the file with this report
}

// DrilledComponent is a component of a throw-away box.
type DrilledComponent struct {
	Name  string `json:"name"`
	State string `json:"state"` // as in a status
}

// drill is one run of DrillFiles or DrillBox.
type drill struct {
	*Box
	id      string
	bundle  *backup.Bundle
	held    *store.OpLock // of the throw-away box
	writing bool          // the directory of the files was made
	result  *Drill
}

// drills is the directory of the drills of the box: the reports and, during a drill, the restored files.
func (b *Box) drills() string { return filepath.Join(b.Dir, "drills", b.Name()) }

// DrillFiles restores a backup into a private directory of this machine, compares the restored files with the backup,
// and removes them. An empty id means the newest backup. DrillFiles writes a report, and returns an error if
// there is a difference.
func (b *Box) DrillFiles(ctx context.Context, id string, sink Sink) (*Drill, error) {
	return b.drill(ctx, id, "files", sink, func(d *drill) (Plan, error) {
		return Plan{Steps: []Step{
			{ID: "open", Title: "open the backup", Do: d.open},
			{ID: "files", Title: "write the files of the backup into a private directory", Do: d.writeFiles, Undo: d.end,
				Changed: func() bool { return d.writing }},
			{ID: "compare", Title: "read them, and compare them with the backup", Do: d.compareFiles},
			{ID: "report", Title: "write the report", Do: d.report},
			{ID: "remove", Title: "remove the files", Do: func(ctx context.Context, _ *Progress) error { return d.end(ctx) }},
		}}, nil
	})
}

// drill runs the plan of a drill.
func (b *Box) drill(ctx context.Context, given, into string, sink Sink, plan func(*drill) (Plan, error)) (*Drill, error) {
	id, err := b.backupNamed(cmp.Or(given, Latest))
	if err != nil {
		return nil, err
	}
	d := &drill{Box: b, id: id, result: &Drill{Backup: id, Box: b.Name(), Into: into, Begun: time.Now().UTC().Truncate(time.Second),
		Compared: []string{}, NotCompared: []string{}, Differences: []string{}}}
	defer d.close()
	err = b.change(ctx, "drill", false, sink, func(context.Context) (Plan, error) { return plan(d) })
	if err != nil {
		return nil, err
	}
	return d.result, d.result.failure()
}

// close frees what the drill has open.
func (d *drill) close() {
	if d.bundle != nil {
		d.bundle.Close()
	}
	if d.held != nil {
		_ = d.held.Unlock()
	}
}

// open opens the backup.
func (d *drill) open(ctx context.Context, _ *Progress) error {
	pool, err := d.OpenPool(ctx)
	if err != nil {
		return err
	}
	if d.bundle, err = pool.Load(ctx, d.id); err != nil {
		return err
	}
	d.result.Manifest, d.result.Missing = d.bundle.Summary.Digest, d.bundle.Summary.Problems
	return nil
}

// differ notes a difference.
func (r *Drill) differ(format string, args ...any) {
	if r.Different++; len(r.Differences) < 100 {
		r.Differences = append(r.Differences, fmt.Sprintf(format, args...))
	}
}

// say reports the outcome of the comparison, long before a drill into a box ends.
func (r *Drill) say(p *Progress) {
	if r.Good() {
		p.Log(fmt.Sprintf("no difference in %s; digest %s", spell.Count(r.Entries, "file"), r.Found))
		return
	}
	p.Warn(spell.Count(r.Different, "difference") + " from the backup")
	for _, d := range r.Differences {
		p.Log(d)
	}
}

// failure returns the error for a drill that has found differences.
func (r *Drill) failure() error {
	if r.Good() {
		return nil
	}
	return fault.New(fault.IntegrityFailed, "the files restored from the backup %s differ from it in %s", r.Backup, spell.Count(r.Different, "place")).
		Hint("the report says where: less %s; to make a new backup: hermes-box backup --full", r.Report).Detail("drill", r)
}

// report writes the report.
func (d *drill) report(context.Context, *Progress) error {
	r := d.result
	r.Ended = time.Now().UTC().Truncate(time.Second)
	r.Report = filepath.Join(d.drills(), r.Begun.Format(reportTime)+"-"+r.Into+".json")
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.drills(), 0o700); err != nil {
		return err
	}
	if err := store.WriteFile(r.Report, append(text, '\n'), 0o600); err != nil {
		return err
	}
	d.pruneReports()
	return nil
}

// end removes everything that the drill has made except its report, and then its journal.
func (d *drill) end(ctx context.Context) error {
	if err := d.removeDrill(ctx); err != nil {
		return err
	}
	return d.journal.remove()
}

// removeDrill removes everything that a drill has restored.
func (b *Box) removeDrill(ctx context.Context) error {
	if err := removeTree(b.DrillDir()); err != nil {
		return err
	}
	return b.undoThrowAway(ctx)
}

// undoDrill removes what a drill that was cut off has restored.
func (b *Box) undoDrill(ctx context.Context, j *store.Journal, next Operation, sink Sink) error {
	if err := b.removeDrill(ctx); err != nil {
		return fmt.Errorf("undo the drill that was cut off: %w", err)
	}
	if err := b.Home.RemoveJournal(b.Name()); err != nil {
		return err
	}
	(&stream{operation: next.Name, box: b.Name(), sink: sink}).emit(Event{Kind: Warning, Line: "removed what an interrupted drill had left"})
	return nil
}

// drillEnded reports whether nothing is left of a drill but its reports.
func (b *Box) drillEnded() bool {
	_, err := os.Lstat(b.DrillDir())
	j, journalErr := b.Home.Journal(throwAwayName(b.Name()))
	return os.IsNotExist(err) && j == nil && journalErr == nil
}
