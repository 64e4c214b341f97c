package guest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hermes-box/guest/protocol"
)

func TestStatus(t *testing.T) {
	g, p := box(t, "node", "hermes")
	for path, text := range map[string]string{
		"/etc/os-release":            "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n",
		"/proc/sys/kernel/osrelease": "6.12.1-amd64\n",
		"/proc/uptime":               "4242.17 8000.00\n",
		"/proc/loadavg":              "0.52 0.40 0.30 1/200 999\n",
		"/proc/meminfo":              "MemTotal:        1000 kB\nMemFree:          100 kB\nMemAvailable:     400 kB\nHugePages_Total:       0\n",
		lockFile:                     "schema: 1\n",
	} {
		writeFile(t, g.Path(path), text)
	}
	p.set(hermesUnit, Unit{Active: "active", Since: g.now().Add(-time.Minute)})
	s, err := g.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.OS != "Debian GNU/Linux 13 (trixie)" || s.Kernel != "6.12.1-amd64" || s.Uptime != 4242 || s.Load != 0.52 ||
		s.Memory != (protocol.Usage{Used: 600 << 10, Total: 1000 << 10}) || s.Lock != "schema: 1\n" {
		t.Errorf("machine: %+v", s)
	}
	if s.DataProblem != "" || s.DataUUID != p.disk.UUID || s.Data.Total <= 0 || s.Data.Used > s.Data.Total || s.Root.Total <= 0 {
		t.Errorf("data: %+v", s)
	}
	if _, err := time.Parse(time.RFC3339Nano, s.Now); err != nil {
		t.Error(err)
	}
	byName := map[string]protocol.ComponentStatus{}
	for _, c := range s.Components {
		byName[c.Name] = c
	}
	if c := byName["hermes"]; c.Service != "active" || c.Since != 60 || c.Applied != "1.0" {
		t.Errorf("hermes: %+v", c)
	}
	if c := byName["executor"]; c.State != protocol.Stopped || c.Service != "inactive" || c.Applied != "" {
		t.Errorf("executor: %+v", c)
	}
	for _, call := range p.calls {
		if call != "units" {
			t.Errorf("status asked for %q", call)
		}
	}
}

// What is broken is told, and the rest all the same.
func TestStatusOfBroken(t *testing.T) {
	g, p := box(t, "hermes")
	delete(p.mounts, g.Path(protocol.DataDir))
	p.fail["units"] = errors.New("no bus")
	writeFile(t, g.Path(journalFile), "{")
	s, err := g.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.DataProblem, "nothing is mounted at /data") || s.DataUUID != "" || s.Data.Total != 0 {
		t.Errorf("data: %q %q %+v", s.DataProblem, s.DataUUID, s.Data)
	}
	if !strings.Contains(s.Journal, "cannot be read") {
		t.Errorf("journal: %q", s.Journal)
	}
	if len(s.Components) != 6 || s.Components[0].State != protocol.FailedState || s.Components[0].Detail != "no bus" {
		t.Errorf("components: %+v", s.Components)
	}
}

func TestStatusBeforeBootstrap(t *testing.T) {
	g, _ := newPretend(t)
	s, err := g.Status(t.Context())
	if err != nil || !strings.Contains(s.DataProblem, "not been made into a box") || s.Lock != "" || s.Journal != "" {
		t.Errorf("%+v, %v", s, err)
	}
}
