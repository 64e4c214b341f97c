package ops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// Every row of the table has the fields that views and recovery need.
func TestOperationsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range Operations() {
		if seen[o.Name] || o.Name == "" || o.Effect == "" || o.Done == "" || o.Cancel == "" || o.repair == "" && o.repairOf == nil {
			t.Errorf("%q is there twice, or lacks a text", o.Name)
		}
		seen[o.Name] = true
		if _, ok := OperationNamed(o.resume); !ok {
			t.Errorf("%s: no operation %q resumes it", o.Name, o.resume)
		}
		if o.recover != nil && o.ended == nil {
			t.Errorf("%s has recover but not ended", o.Name)
		}
		if o.Destructive && (o.Ask == "" || o.Force == nil) {
			t.Errorf("%s is destructive but lacks Ask or Force", o.Name)
		}
	}
}

func journaled(t *testing.T, journal string) *Box {
	t.Helper()
	home, err := store.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(string(home), "boxes", "main.operation"), []byte(journal), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Box{Host: &Host{Dir: string(home)}, Home: home, Config: &config.Config{Name: "main"}, Record: &store.Record{Name: "main", Ready: true}}
}

// The journal of an operation that only a newer version knows is refused: the box is not changed, the journal stays,
// and status names the operation.
func TestUnknownJournalIsRefused(t *testing.T) {
	b := journaled(t, `{"operation":"rebuild","started":"2026-01-01T00:00:00Z","step":"root","made":["vm"]}`)
	for _, next := range Operations() {
		err := b.recover(t.Context(), next, nil)
		if fault.CodeOf(err) != fault.PreflightFailed || !strings.Contains(err.Error(), `"rebuild" of box "main"`) || !strings.Contains(fault.HintOf(err), "newer version") {
			t.Errorf("%s: %v, hint %q", next.Name, err, fault.HintOf(err))
		}
	}
	if j, err := b.Home.Journal("main"); err != nil || j == nil {
		t.Errorf("the journal is gone: %v", err)
	}
	u, err := b.underway()
	if err != nil || u == nil || u.Running || u.Operation != "rebuild" || u.Step != "root" || !u.Unfinished() || !strings.Contains(u.Repair, "newer version") {
		t.Errorf("%+v %v", u, err)
	}
}
