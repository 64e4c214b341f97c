package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
	"hermes-box/internal/rehearsal/simulate"
	"hermes-box/ops"
)

// writer is a program in the box that appends numbers to a file until the VM is killed.
type writer struct {
	last  atomic.Int64 // the last number that was written
	ended chan error
}

// errOff ends a writer whose VM was killed.
var errOff = errors.New("the VM is off")

// startWriter starts a writer and waits for its first number.
func (m *machine) startWriter() *writer {
	m.t.Helper()
	guest := rehearsal.GuestDir(m.lima(), "main")
	text, err := os.ReadFile(filepath.Join(m.lima(), "main", "qemu.pid"))
	if err != nil {
		m.t.Skip("NOT CHECKED: the VM does not run under QEMU:", err)
	}
	vm, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		m.t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(guest, "data/home/agent/numbers"))
	if err != nil {
		m.t.Fatal(err)
	}
	w := &writer{ended: make(chan error, 1)}
	first := make(chan struct{})
	go func() {
		defer file.Close()
		for n := int64(1); ; n++ {
			err := simulate.Open(guest).Write(func() error {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", vm))
				if err != nil || !strings.ContainsAny(string(stat[bytes.LastIndexByte(stat, ')'):][2:3]), "RSDT") {
					return errOff // it may have been killed but not reaped
				}
				_, err = fmt.Fprintln(file, n)
				return err
			})
			if err != nil {
				w.ended <- err
				return
			}
			w.last.Store(n)
			if n == 1 {
				close(first)
			}
			time.Sleep(time.Millisecond) // so that the file stays small
		}
	}()
	select {
	case <-first:
	case err := <-w.ended:
		m.t.Fatal(err)
	}
	return w
}

// writeMore waits until the writer has written again.
func (w *writer) writeMore(t *testing.T, after string) {
	t.Helper()
	seen := w.last.Load()
	for deadline := time.Now().Add(30 * time.Second); w.last.Load() <= seen; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the writer still waits after " + after)
		}
	}
}

// What a program in the box has written before destroy kills the VM is in the last backup, and destroy leaves only that
// one of the backups it makes.
func TestDestroySavesWhatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeBox()
	w := m.startWriter()
	m.must("destroy", "--quiet")
	select {
	case err := <-w.ended:
		if !errors.Is(err, errOff) && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the writer does not end")
	}
	if all := m.backups(); len(all) != 2 || all[0].Label != "before-destroy" || all[1].Label != "first" {
		t.Errorf("backups: %+v", all)
	}
	to := t.TempDir()
	m.must("backup", "get", "latest", "/home/agent/numbers", "--to", to)
	text, err := os.ReadFile(filepath.Join(to, "numbers"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	if last := w.last.Load(); len(lines) == 0 || lines[len(lines)-1] != strconv.FormatInt(last, 10) {
		t.Errorf("the writer wrote %d, and the last number in the backup is %v of %d", last, lines[max(0, len(lines)-1):], len(lines))
	}
}

// A destroy that is killed, interrupted or cut off while the data disk is frozen leaves a box that runs and can write.
func TestDestroyCutOffWhileFrozen(t *testing.T) {
	t.Parallel()
	onLinux(t)
	m := newMachine(t)
	m.makeBox()
	w := m.startWriter()
	m.killAfter("last", "destroy")
	m.wantReleased("a kill")
	w.writeMore(t, "a kill")
	m.wantSound("a destroy that was killed while the data disk was frozen")

	count := filepath.Join(m.dir, "count")
	// The second call as root is the copy while the data disk is frozen.
	m.script("ssh", `case "$*" in *"sudo -n "*"hermes-box-guest channel"*)
	echo >>`+count+`; test $(wc -l <`+count+`) != 2 || exec cut-stream $(cat `+m.dir+`/what) 0 $REAL "$@";;
esac
exec $REAL "$@"`)
	for _, c := range []struct{ what, says string }{
		{cutHang, "destroy was interrupted"}, {cutLose, "copy what has changed since: "}, {cutShort, "copy what has changed since: "},
	} {
		if err := os.RemoveAll(count); err != nil {
			t.Fatal(err)
		}
		m.write("what", []byte(c.what))
		destroy := m.cmd("", "destroy", "--events")
		events, err := destroy.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := destroy.Start(); err != nil {
			t.Fatal(err)
		}
		said := ""
		for lines := bufio.NewScanner(events); lines.Scan(); {
			said += lines.Text() + "\n"
			var e ops.Event
			if json.Unmarshal(lines.Bytes(), &e) == nil && c.what == cutHang && e.Kind == ops.Phase && e.Step == "last" && e.Phase == "copy" {
				if err := destroy.Process.Signal(os.Interrupt); err != nil {
					t.Error(err)
				}
			}
		}
		if err := destroy.Wait(); err == nil || !strings.Contains(said, c.says) {
			t.Errorf("%s: %v: %s", c.what, err, said)
		}
		after := "a destroy whose last copy was cut: " + c.what
		m.wantReleased(after)
		w.writeMore(t, after)
		m.wantSound(after)
	}
}
