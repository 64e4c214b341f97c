//go:build e2e

package e2e

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/ops"
	"hermes-box/ops/backup"
)

//go:embed inbox/fill.py
var fillProgram string

// benchDir is a directory of the data disk with benchMiB of files.
const (
	benchDir = "/data/home/agent/workspace/bench"
	benchMiB = 192
)

// TestBenchBackup compares backups with the pipe that a person would type instead, on a box that `make e2e KEEP=1` has
// kept. The backups of that box are moved away meanwhile.
func TestBenchBackup(t *testing.T) {
	benchKept(t, (*lab).backupCosts)
}

func (l *lab) backupCosts(t *testing.T, rows *benchTable) {
	pool := filepath.Join(l.home(), "backups", "e2e")
	away := filepath.Join(l.root, "backups.away")
	if err := os.Rename(pool, away); err == nil {
		defer func() {
			if err := errors.Join(os.Rename(filepath.Join(pool, "artifacts"), filepath.Join(away, "artifacts")), os.RemoveAll(pool)); err != nil {
				t.Error(err)
			} else if err := os.Rename(away, pool); err != nil {
				t.Error(err)
			}
		}()
		// Keep the software of the lock in the pool, since only the data is measured.
		l.mkdir(t, pool)
		if err := os.Rename(filepath.Join(away, "artifacts"), filepath.Join(pool, "artifacts")); err != nil {
			t.Fatal(err)
		}
	}
	l.inBox(t, "sudo", "rm", "-rf", benchDir, oddDir) // tar does not restore all odd files of the e2e tests
	defer l.inBox(t, "sudo", "rm", "-rf", benchDir)
	l.python(t, fillProgram, benchDir, fmt.Sprint(benchMiB), "1")

	hand := l.newByHand(t)
	byHand := hand.backup(t, l)
	first, made, memory := l.timedBackup(t)
	size := made.Bytes
	rows.ratio(fmt.Sprintf("backup of %d MiB against ssh tar, zstd -1, age", size>>20), sec, first, byHand)
	firstDisk := diskUsage(t, pool)
	second, again, _ := l.timedBackup(t)
	rows.ratio("second backup, of unchanged data, against a backup by hand", sec, second, byHand)
	verify := l.timedVerify(t)
	restored := hand.restore(t, l) // before the drill, which has a VM of its own
	rows.ratio("restore: verify it, and unpack it in a new VM, against age -d, zstd -d, ssh tar", sec, verify+l.timedUnpack(t), restored)
	for range 3 {
		l.timedBackup(t)
	}
	five := diskUsage(t, pool)
	rows.add("disk for five backups of unchanged data against one", mib(five), mib(firstDisk), fmt.Sprintf("%.3f", float64(five)/float64(firstDisk)))

	changeMiB := benchMiB / 100
	l.python(t, fillProgram, benchDir+"/changed", fmt.Sprint(changeMiB), "2")
	l.timedBackup(t)
	after := diskUsage(t, pool)
	rows.add("disk for a backup with 1 % of new data against the first", mib(after-five), mib(firstDisk), fmt.Sprintf("%.3f", float64(after-five)/float64(firstDisk)))
	rows.add("verify: throughput", fmt.Sprintf("%.0f MiB/s", float64(size>>20)/verify.Seconds()), "", "")
	rows.add("backup: longest time for which programs could not write", fmt.Sprintf("%.2f s, %.2f s", made.Frozen, again.Frozen), "", "")
	rows.add("backup: peak memory on the host", mib(memory), "", "")
	if made.Method != again.Method || made.Note != "" {
		t.Errorf("%+v", made)
	}
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// byHand is a backup with the tools that a person would use instead.
type byHand struct {
	age, key, recipient, file string
}

// newByHand builds age in the version that this module requires, and exports the key of the box.
func (l *lab) newByHand(t *testing.T) *byHand {
	t.Helper()
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "filippo.io/age").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	install := exec.Command("go", "install", "filippo.io/age/cmd/age@"+strings.TrimSpace(string(version)))
	install.Env = append(os.Environ(), "GOBIN="+dir)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("build age: %v %s", err, out)
	}
	var key ops.KeyStatus
	l.json(t, &key, "key", "status")
	exported := filepath.Join(l.root, "by-hand.key")
	t.Cleanup(func() { os.Remove(exported) })
	l.must(t, "key", "export", exported)
	return &byHand{filepath.Join(dir, "age"), exported, key.Recipient, filepath.Join(t.TempDir(), "by-hand")}
}

// backup times the pipe for a backup. It empties the cache of the guest first, because hermes-box reads from the disk
// too.
func (h *byHand) backup(t *testing.T, l *lab) time.Duration {
	t.Helper()
	l.inBox(t, "sudo", "sh", "-c", "sync && echo 3 >/proc/sys/vm/drop_caches")
	ssh := shellescape.QuoteCommand(l.sshCmd("e2e", "sudo tar -C /data --exclude=./cache --sparse -cf - .; test $? -le 1").Args) // 1: a file has changed
	return timedShell(t, ssh+" | zstd -1 -q | "+h.age+" -r "+h.recipient+" >"+h.file+" && sync "+h.file)
}

// restore times the reverse pipe, into a directory of the same box that no backup contains.
func (h *byHand) restore(t *testing.T, l *lab) time.Duration {
	t.Helper()
	const dir = "/data/cache/by-hand"
	l.inBox(t, "sudo", "mkdir", dir)
	defer l.inBox(t, "sudo", "rm", "-rf", dir)
	ssh := shellescape.QuoteCommand(l.sshCmd("e2e", "sudo tar -C "+dir+" -xpf - && sync").Args)
	return timedShell(t, shellescape.QuoteCommand([]string{h.age, "-d", "-i", h.key, h.file})+" | zstd -d -q | "+ssh)
}

func timedShell(t *testing.T, script string) time.Duration {
	t.Helper()
	begun := time.Now()
	if text, err := exec.Command("bash", "-o", "pipefail", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, text)
	}
	return time.Since(begun)
}

// timedUnpack returns how long a drill needs to unpack the newest backup in a throw-away box.
func (l *lab) timedUnpack(t *testing.T) time.Duration {
	t.Helper()
	drill := l.run(t, "", "backup", "drill", "--events")
	if drill.status != 0 {
		t.Fatalf("drill: status %d\n%s%s", drill.status, drill.stdout, drill.stderr)
	}
	return stepTime(t, drill.stderr, "unpack")
}

// timedBackup makes a backup and returns how long it took and the peak memory of hermes-box in bytes.
func (l *lab) timedBackup(t *testing.T) (time.Duration, *ops.BackupMade, int64) {
	t.Helper()
	c := l.cmd(t, l.root, "backup", "--json")
	var errs strings.Builder
	c.Stderr = &errs
	begun := time.Now()
	out, err := c.Output()
	took := time.Since(begun)
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, errs.String())
	}
	var answer object
	made := &ops.BackupMade{}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer.Result, made); err != nil {
		t.Fatal(err)
	}
	return took, made, c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
}

// timedVerify returns how long it takes to verify the data of the newest backup.
func (l *lab) timedVerify(t *testing.T) time.Duration {
	t.Helper()
	var report backup.Report
	l.json(t, &report, "backup", "verify")
	return time.Duration(report.Seconds * float64(time.Second))
}

// diskUsage returns the bytes of the files in a directory, without the artifacts, which all backups share.
func diskUsage(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if err == nil && e.Name() == "artifacts" {
				return fs.SkipDir
			}
			return err
		}
		info, err := e.Info()
		sum += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
