package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hermes-box/ops"
)

// Without a terminal, progress prints lines and redraws none.
func TestProgressWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, style{}, false)
	for _, e := range []ops.Event{
		{Kind: ops.Planned},
		{Kind: ops.Started, Step: "boot", Title: "boot the VM"},
		{Kind: ops.Started, Step: "fetch", Title: "fetch the software"},
		{Kind: ops.Bytes, Step: "fetch", Done: 1 << 20, Total: 2 << 20},
		{Kind: ops.Log, Step: "boot", Line: "for the log alone"},
		{Kind: ops.Warning, Step: "boot", Line: "emulated"},
		{Kind: ops.Done, Step: "fetch", Title: "fetch the software", Seconds: 1.5},
		{Kind: ops.Failed, Step: "boot", Title: "boot the VM", Seconds: 75, Error: "no"},
		{Kind: ops.Failed, Step: "upload", Title: "upload the software", Error: "context canceled", Interrupted: true},
		{Kind: ops.Undone, Step: "boot", Title: "boot the VM"},
	} {
		p.event(e)
	}
	p.close()
	want := "! emulated\n✓ fetch the software 1.5s\n✗ boot the VM 1m15s\n! ended: upload the software 0.0s\n↩ undone: boot the VM\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// On a terminal the last line shows the running steps, the oldest first, and is erased at the end.
func TestProgressOnTerminal(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, style{}, true)
	p.event(ops.Event{Kind: ops.Started, Step: "boot", Title: "boot the VM"})
	p.event(ops.Event{Kind: ops.Started, Step: "fetch", Title: "fetch the software"})
	p.event(ops.Event{Kind: ops.Bytes, Step: "fetch", Done: 1 << 20, Total: 2 << 20})
	p.event(ops.Event{Kind: ops.Phase, Step: "boot", Component: "node", Phase: "stage", State: "started"})
	frames := strings.Split(out.String(), "\r\x1b[K")
	last := frames[len(frames)-1]
	if !strings.HasPrefix(last, "  boot the VM: node stage ") || !strings.Contains(last, " · fetch the software 1 of 2 MiB ") {
		t.Errorf("the live line is %q", last)
	}
	at := time.Now()
	for _, test := range []struct {
		after time.Duration
		done  int64
		total int64
		want  string
	}{
		{0, 1 << 20, 0, " · read 1.0 MiB 0."},
		{time.Second, 11 << 20, 0, " · read 11 MiB, 10 MiB/s 0."},
		{2 * time.Second, 41 << 20, 50 << 20, " · read 41 of 50 MiB, 20 MiB/s 0."},
	} {
		if test.after == 0 {
			p.event(ops.Event{Kind: ops.Started, Step: "read", Title: "read"})
		}
		out.Reset()
		p.event(ops.Event{Kind: ops.Bytes, Step: "read", Done: test.done, Total: test.total, Time: at.Add(test.after)})
		if !strings.Contains(out.String(), test.want) {
			t.Errorf("after %v the live line is %q, want %q", test.after, out.String(), test.want)
		}
	}
	p.close()
	if !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Errorf("the live line stays: %q", out.String())
	}
}
