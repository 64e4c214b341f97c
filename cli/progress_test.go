package cli

import (
	"bytes"
	"strings"
	"testing"

	"hermes-box/ops"
)

// Without a terminal each step prints one line, and no line is redrawn.
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
		{Kind: ops.Undone, Step: "boot", Title: "boot the VM"},
	} {
		p.event(e)
	}
	p.close()
	want := "! emulated\n✓ fetch the software 1.5s\n✗ boot the VM 1m15s\n↩ undone: boot the VM\n"
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
	p.close()
	if !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Errorf("the live line stays: %q", out.String())
	}
}
