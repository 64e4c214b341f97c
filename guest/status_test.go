package guest_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

func TestStatus(t *testing.T) {
	b := newBox(t)
	must(t, b.apply(1, "node", "uv", "hermes"))
	must(t, b.sys.AddDisk("/dev/vdb", machine.Disk{Size: diskSize, Type: "ext4", UUID: dataUUID}))
	for path, text := range map[string]string{
		"/etc/os-release":            "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n",
		"/proc/sys/kernel/osrelease": "6.12.1-amd64\n",
		"/proc/uptime":               "4242.17 8000.00\n",
		"/proc/loadavg":              "0.52 0.40 0.30 1/200 999\n",
		"/proc/meminfo":              "MemTotal:        1000 kB\nMemFree:          100 kB\nMemAvailable:     400 kB\nHugePages_Total:       0\n",
	} {
		b.write(path, text)
	}
	now := time.Unix(1_800_000_000, 0)
	b.Now = func() time.Time { return now }
	must(t, b.sys.Break("hermes.service", machine.Unit{Active: "active", Since: now.Add(-time.Minute)}))
	looks := map[string]int{}
	b.sys.Fail = func(what string) error { looks[what]++; return nil }
	s, err := b.Status(t.Context())
	must(t, err)
	if s.OS != "Debian GNU/Linux 13 (trixie)" || s.Kernel != "6.12.1-amd64" || s.Uptime != 4242 || s.Load != 0.52 ||
		s.Memory != (protocol.Usage{Used: 600 << 10, Total: 1000 << 10}) || s.Lock != "lock 1\n" {
		t.Errorf("machine: %+v", s)
	}
	if s.DataProblem != "" || s.DataUUID != dataUUID || s.Data.Total != diskSize || s.Data.Used <= 0 || s.Data.Used > s.Data.Total || s.Root.Total <= 0 {
		t.Errorf("data: %+v", s)
	}
	if at, err := time.Parse(time.RFC3339Nano, s.Now); err != nil || !at.Equal(now) {
		t.Errorf("the time is %s: %v", s.Now, err)
	}
	byName := map[string]protocol.ComponentStatus{}
	for _, c := range s.Components {
		byName[c.Name] = c
	}
	if c := byName["hermes"]; c.Service != "active" || c.Since != 60 || c.Applied != "0.19.1" {
		t.Errorf("hermes: %+v", c)
	}
	if c := byName["executor"]; c.State != protocol.Stopped || c.Service != "inactive" || c.Applied != "" {
		t.Errorf("executor: %+v", c)
	}
	// Status asks the machine only for the mounts and, once, for the units. It changes nothing.
	for _, at := range []string{"/data", "/home/agent", "/workspace"} {
		delete(looks, "read mount "+at)
	}
	if len(looks) != 1 || looks["read units"] != 1 {
		t.Errorf("status asked for %v", looks)
	}
}

// If one part fails, the failure is reported together with the rest of the status.
func TestStatusOfBroken(t *testing.T) {
	b := newFirst(t)
	must(t, b.sys.SetMount("/data", ""))
	b.failAt("read units")
	b.write("/var/lib/hermes-box/journal.json", "{")
	must(t, os.Remove(b.Path("/var/lib/hermes-box/applied.lock")))
	must(t, os.Mkdir(b.Path("/var/lib/hermes-box/applied.lock"), 0o755))
	s, err := b.Status(t.Context())
	must(t, err)
	if !strings.Contains(s.DataProblem, "nothing is mounted at /data") || s.DataUUID != "" || s.Data.Total != 0 {
		t.Errorf("data: %q %q %+v", s.DataProblem, s.DataUUID, s.Data)
	}
	if !strings.Contains(s.Journal, "journal.json is damaged") {
		t.Errorf("journal: %q", s.Journal)
	}
	if s.Lock != "" || !strings.Contains(s.LockProblem, "cannot be read") {
		t.Errorf("lock: %q, %q", s.Lock, s.LockProblem)
	}
	// A service that cannot be asked is neither failed nor stopped. Components without a service are not affected.
	if c := s.Components; len(c) != 6 || c[0].State != protocol.Healthy || c[4].State != protocol.Unknown || c[5].State != protocol.Unknown || c[5].Detail != "sabotage" || c[5].Applied != "1.5.1" {
		t.Errorf("components: %+v", c)
	}
	b.write("/var/lib/hermes-box/applied.json", "{")
	s, err = b.Status(t.Context())
	must(t, err)
	for _, c := range s.Components {
		if c.State != protocol.Unknown || !strings.Contains(c.Detail, "applied.json is damaged") {
			t.Errorf("with a damaged record: %+v", c)
		}
	}
}

func TestStatusBeforeBootstrap(t *testing.T) {
	s, err := newRoot(t, blankDisk).Status(t.Context())
	if err != nil || !strings.Contains(s.DataProblem, "is not a box yet") || s.Lock != "" || s.LockProblem != "" || s.Journal != "" {
		t.Errorf("%+v, %v", s, err)
	}
}
