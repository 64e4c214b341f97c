package ops

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hermes-box/ops/store"
)

// reportLimit is more than a report needs, in bytes.
const reportLimit = 4 << 20

// keptReports is how many reports of drills are kept for each box.
const keptReports = 10

// pruneReports removes all but the newest reports of the box's drills. It touches only regular files that are named as
// a drill names its report. A report that cannot be removed stays: it does no harm.
func (b *Box) pruneReports() {
	entries, err := os.ReadDir(b.drills()) // sorted by name, and so by time
	if err != nil {
		return
	}
	var reports []string
	for _, e := range entries {
		if e.Type().IsRegular() && isReport(e.Name()) {
			reports = append(reports, e.Name())
		}
	}
	for _, name := range reports[:max(0, len(reports)-keptReports)] {
		_ = os.Remove(filepath.Join(b.drills(), name))
	}
}

// isReport reports whether a file has the name of a report: the time of the drill, and where it restored the files.
func isReport(name string) bool {
	at, into, ok := strings.Cut(strings.TrimSuffix(name, ".json"), "-")
	if !ok || !strings.HasSuffix(name, ".json") || into != "files" && into != "box" {
		return false
	}
	when, err := time.Parse(reportTime, at)
	return err == nil && when.Format(reportTime) == at
}

// reportTime is the format of the time in the name of a report.
const reportTime = "20060102T150405Z"

// Drills returns the report of the last drill of each backup, by its id. A report that cannot be read is left out.
func (b *Box) Drills() (map[string]*Drill, error) {
	entries, err := os.ReadDir(b.drills()) // sorted by name, and so by time
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]*Drill{}, nil
	}
	if err != nil {
		return nil, err
	}
	last := map[string]*Drill{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		path := filepath.Join(b.drills(), e.Name())
		text, err := store.ReadFile(path, reportLimit)
		r := &Drill{}
		if err != nil || json.Unmarshal(text, r) != nil || r.Backup == "" {
			continue
		}
		r.Report = path
		last[r.Backup] = r
	}
	return last, nil
}

// Good reports whether the drill has found no difference.
func (r *Drill) Good() bool { return r.Different == 0 && r.Expected == r.Found }
