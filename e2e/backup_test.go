//go:build e2e

package e2e

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hermes-box/guest/protocol"
	"hermes-box/ops"
	"hermes-box/ops/backup"
)

// Programs that run in the box.
var (
	//go:embed inbox/odd.py
	oddProgram string
	//go:embed inbox/list.py
	listProgram string
	//go:embed inbox/writer.py
	writerProgram string
)

// Paths in the box. The writer's list of acknowledged rows is on the root disk, which is in no backup.
const (
	oddDir    = "/data/home/agent/workspace/odd"
	dbDir     = "/data/home/agent/workspace/db"
	writerAck = "/var/tmp/acknowledged"
)

// sizes returns the number of small files and the MiB of the large one. With LARGE=1 they are as in a large box, which
// takes half an hour on emulated CPUs.
func sizes() (small, large int) {
	if os.Getenv("LARGE") != "" {
		return 100_000, 2 << 10
	}
	return 2_000, 24
}

// snapshots runs, in the box, the tests of package machine that need root and device mapper.
func snapshots(t *testing.T, l *lab) {
	program := filepath.Join(t.TempDir(), "machine.test")
	build := exec.Command("go", "test", "-c", "-o", program, "hermes-box/guest/machine")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if o := l.run(t, string(data), "exec", "--", "sh", "-c", "cat >/var/tmp/machine.test && chmod +x /var/tmp/machine.test"); o.status != 0 {
		t.Fatal(o.stderr)
	}
	defer l.inBox(t, "rm", "-f", "/var/tmp/machine.test")
	o := l.run(t, "", "exec", "--", "sudo", "env", "HERMES_BOX_SNAPSHOT_TEST_DIR="+protocol.StateDir,
		"/var/tmp/machine.test", "-test.v", "-test.run", "^(TestSnapshot|TestFreeze)", "-test.timeout", "9m")
	if o.status != 0 || strings.Contains(o.stdout, "NOT CHECKED") || !strings.Contains(o.stdout, "\nPASS") {
		t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	t.Log(o.stdout)
}

// python runs a program in the box as root and returns its output.
func (l *lab) python(t *testing.T, program string, args ...string) string {
	t.Helper()
	o := l.run(t, program, append([]string{"exec", "--", "sudo", "python3", "-"}, args...)...)
	if o.status != 0 {
		t.Fatalf("status %d: %s", o.status, o.stderr)
	}
	return o.stdout
}

// acknowledged returns, for each database, the last row that the writer has acknowledged. It also returns the number of
// lines in the writer's list, and the longest time between two commits after line number from.
func (l *lab) acknowledged(t *testing.T, from int) (rows []int, lines int, gap time.Duration) {
	t.Helper()
	all := strings.Split(strings.TrimSpace(l.inBox(t, "cat", writerAck)), "\n")
	before := 0.0
	for n, line := range all {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue // the last line may be incomplete
		}
		at, _ := strconv.ParseFloat(f[0], 64)
		if n > from && before != 0 {
			gap = max(gap, time.Duration((at-before)*float64(time.Second)))
		}
		before = at
		wal, _ := strconv.Atoi(f[1])
		del, _ := strconv.Atoi(f[2])
		rows = []int{wal, del}
	}
	return rows, len(all), gap
}

// backups makes backups of odd files and of databases that are being written, kills one, and checks that nothing is left
// of it.
func backups(t *testing.T, l *lab) {
	small, large := sizes()
	l.inBox(t, "sudo", "rm", "-rf", oddDir, dbDir, writerAck) // left by an earlier run
	l.python(t, oddProgram, oddDir, strconv.Itoa(small), strconv.Itoa(large))
	if o := l.run(t, writerProgram, "exec", "--", "sh", "-c", "cat >/var/tmp/writer.py"); o.status != 0 {
		t.Fatal(o.stderr)
	}
	l.inBox(t, "sh", "-c", "setsid nohup python3 /var/tmp/writer.py "+dbDir+" "+writerAck+" >/dev/null 2>&1 </dev/null &")
	defer l.inBox(t, "pkill", "-KILL", "-f", "/var/tmp/writer.py")
	for begun := time.Now(); ; time.Sleep(time.Second) {
		if o := l.run(t, "", "exec", "--", "sh", "-c", "test $(wc -l <"+writerAck+") -gt 50"); o.status == 0 {
			break
		}
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("the writer does not write")
		}
	}
	rows, from, _ := l.acknowledged(t, 0)
	l.write(t, l.ackFile(), fmt.Appendf(nil, "%d %d", rows[0], rows[1]))

	var before, after []backup.Envelope
	var first ops.BackupMade
	l.json(t, &first, "backup", "first")
	_, _, gap := l.acknowledged(t, from)
	t.Logf("%d entries, %d bytes; frozen for at most %.2f s; the writer waited for at most %v", first.Entries, first.Bytes, first.Frozen, gap)
	if first.Method != protocol.BySnapshot || first.Problems != 0 || gap > 15*time.Second {
		t.Errorf("made %+v", first)
	}
	if first.Bytes < int64(large)<<20 || first.Entries < small {
		t.Errorf("only %d bytes in %d entries", first.Bytes, first.Entries)
	}

	l.json(t, &before, "backup", "list")
	// A host program that is killed in the middle leaves nothing in the box, and nothing is listed.
	c := l.cmd(t, l.root, "backup", "killed", "--full", "--json")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	l.eventually(t, "there is no snapshot", "test -e /dev/mapper/hermes-box-snapshot")
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	l.eventually(t, "the snapshot is still there", "test ! -e /dev/mapper/hermes-box-snapshot && test ! -e /dev/mapper/hermes-box-origin")
	if l.json(t, &after, "backup", "list"); len(after) != len(before) || after[0].ID != first.ID {
		t.Errorf("listed after a kill: %+v", after)
	}

	var second ops.BackupMade
	l.json(t, &second, "backup", "second")
	if second.Method != protocol.BySnapshot || second.Added > first.Bytes/4 {
		t.Errorf("the second backup adds %d bytes, the first has %d: %+v", second.Added, first.Bytes, second)
	}
	l.must(t, "backup", "verify", first.ID)
	l.must(t, "backup", "verify")
	var drill ops.Drill
	if l.json(t, &drill, "backup", "drill", "--files"); drill.Backup != second.ID || drill.Entries < small || drill.Expected != drill.Found {
		t.Errorf("%+v", drill)
	}
}

// eventually waits until a shell command succeeds in the box.
func (l *lab) eventually(t *testing.T, otherwise, command string) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 4*time.Minute; time.Sleep(500 * time.Millisecond) {
		if l.run(t, "", "exec", "--", "sh", "-c", command).status == 0 {
			return
		}
	}
	t.Error(otherwise)
}

func (l *lab) oddList() string { return filepath.Join(l.root, "odd.list") }
func (l *lab) ackFile() string { return filepath.Join(l.root, "acknowledged") }
