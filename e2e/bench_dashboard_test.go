//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes-box/internal/rehearsal"
	"hermes-box/internal/ttytest"
)

// TestBenchDashboard measures how long a user of the dashboard waits. The real program runs on a terminal, and works on
// its demo instead of a VM. For comparison the test measures echo and cat on terminals of the same kind, which shows
// the cost of the measurement itself.
func TestBenchDashboard(t *testing.T) {
	if !*bench {
		t.Skip("run by make bench")
	}
	r := newRehearsed(t)
	r.must("create")
	r.must("stop")
	off := r.firstFrame("", "○ stopped")
	scroll := r.scroll()
	r.must("start")
	hangs := r.firstFrame(string(rehearsal.ListHangs), "● running")
	cpu, resident := r.idle()
	r.must("destroy", "--force")
	key, echo, rate := r.keyToFrame()

	hello := median(samples(func() time.Duration {
		begun := time.Now()
		d := ttytest.Start(t, exec.Command("echo", "hello"), 80, 24)
		d.Shows("hello")
		return time.Since(begun)
	}))
	fmt.Printf("\n| path | hermes-box | goal | bare terminal |\n|---|---|---|---|\n")
	fmt.Printf("| first frame, box off | %s | 100 ms | %s |\n", ms(off), ms(hello))
	fmt.Printf("| first frame, limactl hangs | %s | 100 ms | %s |\n", ms(hangs), ms(hello))
	fmt.Printf("| key to frame at %.0f events a second, 99th percentile | %s | 33 ms | %s |\n", rate, ms(key), ms(echo))
	fmt.Printf("| key to frame in a log of 10,000 lines, 99th percentile | %s | 33 ms | %s |\n", ms(scroll), ms(echo))
	fmt.Printf("| idle, of a core | %.2f %% | 0.5 %% | |\n", 100*cpu)
	fmt.Printf("| resident memory | %.0f MB | 40 MB | |\n\n", float64(resident)/1e6)
}

// samples repeats a measurement.
func samples(measure func() time.Duration) (all []time.Duration) {
	for range 15 {
		all = append(all, measure())
	}
	return all
}

// rehearsed runs the program on its demo.
type rehearsed struct {
	t            *testing.T
	program, dir string
}

func newRehearsed(t *testing.T) *rehearsed {
	program, err := filepath.Abs("../hermes-box")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "hb") // short: socket paths have a maximum length
	if err != nil {
		t.Fatal(err)
	}
	r := &rehearsed{t, program, dir}
	t.Cleanup(func() {
		if out, err := r.demo("", "destroy", "--force").CombinedOutput(); err != nil && !strings.Contains(string(out), "does not exist") {
			t.Errorf("destroy: %v: %s", err, out)
		}
		os.RemoveAll(dir)
	})
	return r
}

func (r *rehearsed) lima() string { return filepath.Join(r.dir, "home", "lima") }

// demo returns a command on the demo, without its delays.
func (r *rehearsed) demo(faults string, args ...string) *exec.Cmd {
	c := exec.Command(r.program, append([]string{"--demo"}, args...)...)
	c.Env = append(os.Environ(), "HERMES_BOX_DEMO_DIR="+r.dir, "HERMES_BOX_DEMO_PACE=0", "HERMES_BOX_DEMO_FAULTS="+faults)
	return c
}

func (r *rehearsed) must(args ...string) {
	r.t.Helper()
	if out, err := r.demo("", args...).CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %v: %s", args, err, out)
	}
}

// firstFrame measures the time from the start of the program to a frame with that text.
func (r *rehearsed) firstFrame(faults, text string) time.Duration {
	return median(samples(func() time.Duration {
		begun := time.Now()
		d := ttytest.Start(r.t, r.demo(faults), 80, 24)
		d.Shows(text)
		took := time.Since(begun)
		d.Type("q")
		d.Ends(10 * time.Second)
		return took
	}))
}

// idle measures a dashboard that is left open on a healthy box: its own share of a core, and its resident memory in
// bytes.
func (r *rehearsed) idle() (cpu float64, resident int64) {
	const settles, measured = 40 * time.Second, 60 * time.Second // once settled, it polls at its slowest rate
	c := r.demo("")
	d := ttytest.Start(r.t, c, 80, 24)
	d.Shows("● running")
	time.Sleep(settles)
	before := r.cpu(c.Process.Pid)
	time.Sleep(measured)
	took := r.cpu(c.Process.Pid) - before
	resident = procStatus(r.t, c.Process.Pid, "VmRSS")
	d.Type("q")
	d.Ends(10 * time.Second)
	return took.Seconds() / measured.Seconds(), resident
}

// cpu returns the processor time that a process has used.
func (r *rehearsed) cpu(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		r.t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:])) // skip the name, which may hold spaces
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil { // utime and stime: proc(5)
		r.t.Fatal(err)
	}
	return time.Duration(user+system) * (time.Second / 100) // USER_HZ is 100 on Linux
}

// keyToFrame measures the time from a key to its frame during a boot whose host agent reports a thousand events a
// second. It also returns the time from a key to its echo on a bare terminal, and the rate of events that was reached.
func (r *rehearsed) keyToFrame() (ours, bare time.Duration, rate float64) {
	d := ttytest.Start(r.t, r.demo(string(rehearsal.HoldBoot)), 120, 40)
	d.Shows("▸ boot the VM")
	path := filepath.Join(r.lima(), "demo", "ha.stdout.log")
	d.Until("the host agent", func(string) bool { _, err := os.Stat(path); return err == nil })
	stop, flood := make(chan struct{}), make(chan error, 1)
	begun, sent := time.Now(), 0
	go func() { flood <- agentReports(path, stop, &sent) }()
	d.Shows("reported ")
	all := toFrames(d, "?", "?", "type to search")
	took := time.Since(begun)
	close(stop)
	if err := <-flood; err != nil {
		r.t.Fatal(err)
	}
	d.Shows(fmt.Sprintf("reported %d", sent)) // all events have arrived
	d.Type("qy")
	d.Ends(20 * time.Second)

	echo := ttytest.Start(r.t, exec.Command("cat"), 120, 40)
	var echoes []time.Duration
	for i := range 300 {
		text := fmt.Sprintf("key %d.", i)
		pressed := time.Now()
		echo.Type(text + "\n")
		echo.Shows(text)
		echoes = append(echoes, time.Since(pressed))
	}
	return percentile(all, 99), percentile(echoes, 99), float64(sent) / took.Seconds()
}

// toFrames measures how long one key takes to show a text and another to hide it, many times.
func toFrames(d *ttytest.Terminal, show, hide, text string) (all []time.Duration) {
	for range 150 {
		for _, seen := range []bool{true, false} {
			key := show
			if !seen {
				key = hide
			}
			time.Sleep(rand.N(40 * time.Millisecond)) // press at any moment of a frame
			pressed := time.Now()
			d.Type(key)
			d.Until(fmt.Sprintf("%q shown: %v", text, seen), func(s string) bool { return strings.Contains(s, text) == seen })
			all = append(all, time.Since(pressed))
		}
	}
	return all
}

// scroll measures the keys that jump to the start and the end of a long log.
func (r *rehearsed) scroll() time.Duration {
	path := filepath.Join(r.dir, "home", "logs", "demo", "29991231T235959Z-start.ndjson") // its name makes it the newest
	var log strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&log, `{"time":"2026-01-01T00:00:00Z","event":"log","operation":"start","box":"demo","step":"boot","line":"line %d of many, with as much in it as a line of a log has"}`+"\n", i)
	}
	if err := os.WriteFile(path, []byte(log.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
	defer os.Remove(path)
	d := ttytest.Start(r.t, r.demo(""), 120, 40)
	d.Shows("○ stopped")
	d.Type("l")
	d.Shows("line 9999 of many")
	all := toFrames(d, "g", "G", "line 0 of many")
	d.Type("q")
	d.Ends(10 * time.Second)
	return percentile(all, 99)
}

// agentReports appends a thousand events a second to the log of a host agent until stop is closed.
func agentReports(path string, stop <-chan struct{}, sent *int) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	out := json.NewEncoder(f)
	for begun := time.Now(); ; {
		for *sent < int(time.Since(begun)/time.Millisecond) {
			*sent++
			line := map[string]any{"logLine": fmt.Sprintf("reported %d", *sent)}
			if err := out.Encode(map[string]any{"time": time.Now(), "status": map[string]any{"cloudInitProgress": line}}); err != nil {
				return err
			}
		}
		select {
		case <-stop:
			return nil
		case <-tick.C:
		}
	}
}

func percentile(all []time.Duration, n int) time.Duration {
	slices.Sort(all)
	return all[min(len(all)*n/100, len(all)-1)]
}
