//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes-box/internal/ttytest"
	"hermes-box/limactl"
	"hermes-box/ops"
	"hermes-box/ops/artifact"
	"hermes-box/ops/lock"
)

// TestBench measures mostly ratios, because absolute times say little about another machine. It creates a box and a
// bare VM of the same image.
func TestBench(t *testing.T) {
	if !*bench {
		t.Skip("run by make bench")
	}
	l := newLab(t)
	l.fresh(t)
	defer l.fresh(t)
	l.configure(t)
	var rows benchTable
	version, memory := l.versionCost(t)
	rows.add("version: wall time, peak memory", ms(version), fmt.Sprintf("%d MiB", memory>>20), "")

	cacheTime, curlTime, bytes := l.cacheCost(t)
	rows.ratio(fmt.Sprintf("cache: fetch and verify %d MiB against curl into sha256sum", bytes>>20), ms, cacheTime, curlTime)

	made := l.run(t, "", "create", "--events") // artifacts that are not cached are fetched from loopback during the boot
	if made.status != 0 {
		t.Fatalf("create: status %d\n%s%s", made.status, made.stdout, made.stderr)
	}
	backupTime := stepTime(t, made.stderr, "backup")
	createTime := made.took - backupTime
	l.sshCosts(t, &rows)
	l.backupCosts(t, &rows)
	bareTime := l.bareCost(t)
	l.must(t, "destroy", "--backups", "--confirm", "e2e")
	rows.ratio("create, without its first backup, against limactl start and moving the same bytes", sec, createTime, bareTime)
	rows.add("create: its first backup", sec(backupTime), "", "")
	rows.print()
}

// stepTime returns how long a step took, from the events of an operation.
func stepTime(t *testing.T, events, step string) time.Duration {
	t.Helper()
	for line := range strings.Lines(events) {
		var e ops.Event
		if json.Unmarshal([]byte(line), &e) == nil && e.Kind == ops.Done && e.Step == step {
			return time.Duration(e.Seconds * float64(time.Second))
		}
	}
	t.Fatalf("step %q is not in the events:\n%s", step, events)
	return 0
}

// TestBenchSSH measures status and attach alone, on a box that `make e2e KEEP=1` has kept.
func TestBenchSSH(t *testing.T) {
	benchKept(t, (*lab).sshCosts)
}

// benchKept measures costs on a box that `make e2e KEEP=1` has kept, and prints them.
func benchKept(t *testing.T, costs func(*lab, *testing.T, *benchTable)) {
	t.Helper()
	if !*bench {
		t.Skip("run by make bench")
	}
	l := newLab(t)
	if _, err := os.Stat(filepath.Join(l.limaHome(), "e2e")); err != nil {
		t.Skip("no box is kept: make e2e KEEP=1")
	}
	var rows benchTable
	defer rows.print()
	costs(l, t, &rows)
}

// sshCosts compares the commands that use ssh with a bare ssh.
func (l *lab) sshCosts(t *testing.T, rows *benchTable) {
	statusTime, sshTime := l.statusCost(t)
	rows.ratio("status against bare ssh true", ms, statusTime, sshTime)
	attachTime, tmuxTime := l.attachCost(t)
	rows.ratio("attach, to the first byte of tmux, against ssh -t tmux attach", ms, attachTime, tmuxTime)
}

// benchTable has a row for each measurement: its name, the time of hermes-box, the time of a bare program, and their
// ratio. A row without a ratio may have another figure, or none, instead of the bare program's time.
type benchTable [][4]string

func (b *benchTable) add(row ...string) { *b = append(*b, [4]string(row)) }

func (b *benchTable) ratio(path string, format func(time.Duration) string, ours, bare time.Duration) {
	b.add(path, format(ours), format(bare), fmt.Sprintf("%.2f", float64(ours)/float64(bare)))
}

func (b *benchTable) print() {
	fmt.Printf("\n| path | hermes-box | bare | ratio |\n|---|---|---|---|\n")
	for _, r := range *b {
		fmt.Printf("| %s | %s | %s | %s |\n", r[0], r[1], r[2], r[3])
	}
	fmt.Println()
}

func ms(d time.Duration) string  { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
func sec(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func (l *lab) versionCost(t *testing.T) (time.Duration, int64) {
	var times []time.Duration
	for range 21 {
		c := exec.Command(l.program, "version")
		begun := time.Now()
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(begun))
	}
	return median(times), l.versionPeak(t)
}

// versionPeak measures the peak memory of `hermes-box version`, in bytes. It asks the kernel while the process waits for
// a reader of its output, because after the end of the process the kernel's figure includes the memory of the parent.
func (l *lab) versionPeak(t *testing.T) (peak int64) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size)); err != nil { // fill it
		t.Fatal(err)
	}
	c := exec.Command(l.program, "version")
	c.Stdout = w
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for same := 0; same < 20; same++ { // once its memory no longer grows, the process is waiting for its reader
		if now := procStatus(t, c.Process.Pid, "VmHWM"); now != peak {
			peak, same = now, 0
		}
		time.Sleep(5 * time.Millisecond)
	}
	go io.Copy(io.Discard, r)
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	return peak
}

// procStatus reads a size from /proc/<pid>/status, in bytes.
func procStatus(t *testing.T, pid int, field string) (size int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut(string(status), "\n"+field+":")
	if _, err := fmt.Sscan(value, &size); err != nil {
		t.Fatal(err)
	}
	return size << 10
}

// cacheCost measures how long hermes-box takes to fetch an artifact into an empty cache, and how long curl takes for the
// same bytes. The artifact is the largest one with an HTTP URL among those of the components.
func (l *lab) cacheCost(t *testing.T) (ours, curl time.Duration, bytes int64) {
	var big lock.Artifact
	for _, c := range l.lock(t).Components {
		for _, a := range c.Artifacts {
			if a.Size > big.Size && strings.HasPrefix(a.URL, "http") {
				big = a
			}
		}
	}
	for i := range 3 {
		cache, err := artifact.Open(filepath.Join(t.TempDir(), fmt.Sprint(i)), artifact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := cache.Fetch(context.Background(), []lock.Artifact{big}, func(artifact.Progress) {}); err != nil {
			t.Fatal(err)
		}
		ours += time.Since(begun)
		out := filepath.Join(t.TempDir(), "curl")
		begun = time.Now()
		if err := exec.Command("sh", "-c", `curl -sf "$1" | tee "$2" | sha256sum && sync "$2"`, "sh", big.URL, out).Run(); err != nil {
			t.Fatal(err)
		}
		curl += time.Since(begun)
	}
	return ours / 3, curl / 3, big.Size
}

// sshCmd returns a bare ssh into a VM of this run, over Lima's shared connection.
func (l *lab) sshCmd(vm string, args ...string) *exec.Cmd {
	argv := append([]string{"ssh", "-F", filepath.Join(l.limaHome(), vm, "ssh.config"), "lima-" + vm, "--"}, args...)
	if os.Geteuid() == 0 {
		argv = append([]string{"runuser", "-u", l.user.Username, "--"}, argv...)
	}
	return exec.Command(argv[0], argv[1:]...)
}

func (l *lab) statusCost(t *testing.T) (ours, bare time.Duration) {
	var a, b []time.Duration
	for range 15 {
		begun := time.Now()
		l.must(t, "status", "--json")
		a = append(a, time.Since(begun))
		begun = time.Now()
		if err := l.sshCmd("e2e", "true").Run(); err != nil {
			t.Fatal(err)
		}
		b = append(b, time.Since(begun))
	}
	return median(a), median(b)
}

// attachCost times `hermes-box ssh` and a bare `ssh -t tmux attach` into the same session, to the first byte of tmux.
func (l *lab) attachCost(t *testing.T) (ours, bare time.Duration) {
	attach := func(c *exec.Cmd) time.Duration {
		begun := time.Now()
		term := ttytest.Start(t, c, 120, 40)
		term.Hears(`\x1b\[\?1049h`) // tmux switches to the alternate screen
		took := time.Since(begun)
		term.Type("\x02d")
		term.Ends(30 * time.Second)
		return took
	}
	var a, b []time.Duration
	for range 7 {
		a = append(a, attach(l.cmd(t, l.root, "ssh")))
		c := l.sshCmd("e2e", "tmux", "attach-session", "-t", "main")
		c.Args = slices.Insert(c.Args, slices.Index(c.Args, "ssh")+1, "-t")
		b = append(b, attach(c))
	}
	return median(a), median(b)
}

// bareCost times the creation and boot of a bare VM, and a copy of the artifacts of the box's components into the VM.
// The VM has the box's own definition, but another data disk and other ports.
func (l *lab) bareCost(t *testing.T) time.Duration {
	data, err := os.ReadFile(filepath.Join(l.limaHome(), "e2e", "lima.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	yaml := filepath.Join(l.root, "stranger.yaml")
	text := strings.ReplaceAll(string(data), "name: e2e-data", "name: stranger")
	text = strings.ReplaceAll(text, fmt.Sprint(executorPort), fmt.Sprint(executorPort+1))
	l.write(t, yaml, []byte(strings.ReplaceAll(text, fmt.Sprint(dashboardPort), fmt.Sprint(dashboardPort+1))))
	l.must(t, "stop") // so that each VM boots while no other one runs
	if o := l.lima(t, "disk", "create", "stranger", "--size", "10GiB"); o.status != 0 {
		t.Fatal(o.stderr)
	}
	cache, err := artifact.Open(filepath.Join(l.home(), "artifacts"), artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, c := range l.lock(t).Components {
		for _, a := range c.Artifacts {
			digests = append(digests, a.Digest)
			if blobs, err := cache.Image(a.Digest); err == nil {
				for _, b := range blobs {
					digests = append(digests, b.Digest)
				}
			}
		}
	}
	if limactl.Acceleration().Slow() { // without these variables Lima uses KVM wherever /dev/kvm exists
		t.Setenv("QEMU_SYSTEM_X86_64", "qemu-system-x86_64 -machine q35,accel=tcg -cpu max")
		t.Setenv("QEMU_SYSTEM_AARCH64", "qemu-system-aarch64 -machine virt,accel=tcg -cpu max")
	}
	begun := time.Now()
	if o := l.lima(t, "--tty=false", "create", "--name=stranger", yaml); o.status != 0 {
		t.Fatal(o.stderr)
	}
	if o := l.lima(t, "--tty=false", "start", "stranger"); o.status != 0 {
		t.Fatal(o.stderr)
	}
	c := l.sshCmd("stranger", "cat > bytes && sync bytes")
	r, w := io.Pipe()
	c.Stdin = r
	go func() { w.CloseWithError(cache.WriteTar(context.Background(), w, digests, nil)) }()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return time.Since(begun)
}
