//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
)

// cases run in this order. create makes the box, and each later case before destroy leaves it running. restore makes
// another box, and removes it.
var cases = []struct {
	name   string
	proves string
	run    func(*testing.T, *lab)
}{
	{"stranger", "another VM and disk in the same Lima home", makeStranger},
	{"sabotage", "a corrupt artifact is refused and nothing is left", sabotage},
	{"create", "create ends with a healthy box", create},
	{"versions", "the six components run at their pinned versions", versions},
	{"status", "status and doctor report a healthy box", status},
	{"mcp", "Executor lists its MCP tools with the token", mcpEndpoint},
	{"sign-in", "sign-in connects Hermes with Executor", signIn},
	{"loopback", "forwarded ports listen on loopback only", loopback},
	{"isolation", "no host mounts, no agent forwarding, no updaters", isolation},
	{"exec", "exec passes arguments, streams and status through", execContract},
	{"adapter", "the tests of the ssh adapter pass over real ssh", adapter},
	{"ssh", "ssh attaches to tmux in /workspace, and attaches again", attach},
	{"snapshot", "a snapshot does not change and is removed after a kill", snapshots},
	{"backup", "backups hold odd files and databases; a kill leaves nothing", backups},
	{"export", "a backup and the key are exported; a drill succeeds", export},
	{"memory", "the kernel kills only the program that uses all memory", outOfMemory},
	{"restart", "data survives a restart, no unit has failed", restart},
	{"guest-agent", "without Lima's guest agent only the forwards fail", withoutGuestAgent},
	{"kill", "data survives a killed VM", killVM},
	{"second-create", "a second create is refused, the box is unchanged", secondCreate},
	{"destroy", "destroy removes the box and nothing else; what was written meanwhile is in its backup", destroy},
	{"restore", "restore needs only the exported file and the exported key", restore},
}

func TestBox(t *testing.T) {
	l := newLab(t)
	tb := &table{}
	defer tb.print()
	if *onlyCase == "" {
		l.fresh(t)
	}
	l.configure(t)
	for _, c := range cases {
		if *onlyCase != "" && c.name != *onlyCase || (c.name == "destroy" || c.name == "restore") && *keep && *onlyCase == "" {
			continue
		}
		if slices.Contains(strings.Split(*skip, ","), c.name) {
			tb.add(c.proves, "NOT RUN", 0)
			continue
		}
		begun := time.Now()
		ok := t.Run(c.name, func(t *testing.T) { c.run(t, l) })
		outcome := "ok"
		if !ok {
			outcome = "FAILED"
			l.printVM(c.name)
		}
		tb.add(c.proves, outcome, time.Since(begun))
		if !ok && c.name == "create" {
			break // every later case needs the box
		}
	}
	if t.Failed() {
		t.Log(l.run(t, "", "logs", "operations", "-n", "20").stdout)
	}
	if *onlyCase == "" && !*keep {
		l.fresh(t)
	}
}

// fresh removes the boxes, backups and keys that an earlier run of these tests may have left. The artifact cache stays.
func (l *lab) fresh(t *testing.T) {
	t.Helper()
	l.forget(t, "e2e", "stranger")
	l.other().forget(t, "again")
	if err := os.RemoveAll(l.other().root); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"backups", "boxes", "drills", "keys", "locks", "logs", "lima"} {
		if err := os.RemoveAll(filepath.Join(l.home(), sub)); err != nil {
			t.Fatal(err)
		}
	}
}

// forget removes VMs and their disks.
func (l *lab) forget(t *testing.T, names ...string) {
	t.Helper()
	if _, err := os.Stat(l.limaHome()); err != nil {
		return
	}
	for _, name := range names {
		l.lima(t, "--tty=false", "delete", "--force", name)
		for _, disk := range []string{name, name + "-data"} {
			l.lima(t, "--tty=false", "disk", "delete", "--force", disk)
		}
	}
}

// configure writes the config and the lock of the box.
func (l *lab) configure(t *testing.T) {
	t.Helper()
	l.mkdir(t, l.home())
	l.write(t, filepath.Join(l.root, "hermes-box.yaml"), fmt.Appendf(nil, `schema: 1
name: e2e
vm: {cpus: 2, memory: 4GiB, root_disk: 20GiB, data_disk: 10GiB}
ports: {executor: %d, dashboard: %d}
`, executorPort, dashboardPort))
	data, err := os.ReadFile(filepath.Join(l.cache, "hermes-box.lock"))
	if err != nil {
		t.Fatal(err)
	}
	l.write(t, filepath.Join(l.root, "hermes-box.lock"), data)
}

func create(t *testing.T, l *lab) {
	var made ops.Created
	l.json(t, &made, "create")
	if len(made.Components) != 6 {
		t.Errorf("%d components were applied", len(made.Components))
	}
	if made.Instance != "e2e" || made.Disk != "e2e-data" || made.DataUUID == "" {
		t.Errorf("made %+v", made)
	}
}

func secondCreate(t *testing.T, l *lab) {
	if e := l.json(t, nil, "create"); e.OK || e.Error.Code != "already_exists" {
		t.Errorf("create of a box that exists: %+v", e)
	}
	var run ops.Run
	if l.json(t, &run, "start"); !run.Already {
		t.Error("start of a healthy running box does not report that it was running already")
	}
}
