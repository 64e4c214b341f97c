//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hermes-box/ops"
)

// strangerYAML defines a VM that is created but never started.
const strangerYAML = `images: [{location: "/etc/hostname", arch: "x86_64"}]
arch: x86_64
containerd: {system: false, user: false}
mounts: []
additionalDisks: [{name: stranger, format: false}]
`

// makeStranger creates a VM and a disk in the product's Lima home that do not belong to the product.
func makeStranger(t *testing.T, l *lab) {
	l.json(t, nil, "status") // status must create nothing
	if _, err := os.Stat(l.limaHome()); err == nil {
		t.Errorf("status made %s", l.limaHome())
	}
	l.mkdir(t, l.limaHome())
	yaml := filepath.Join(l.root, "stranger.yaml")
	l.write(t, yaml, []byte(strangerYAML))
	for _, args := range [][]string{
		{"disk", "create", "stranger", "--size", "1GiB", "--format", "raw"},
		{"--tty=false", "create", "--name=stranger", yaml},
	} {
		if o := l.lima(t, args...); o.status != 0 {
			t.Fatalf("limactl %q: %s", args, o.stderr)
		}
	}
}

// sabotage tries to create a box whose lock has a wrong digest for an artifact that is fetched during the boot. create
// must fail and leave nothing.
func sabotage(t *testing.T, l *lab) {
	dir := filepath.Join(l.root, "sabotaged")
	l.mkdir(t, dir)
	for _, name := range []string{"hermes-box.yaml", "hermes-box.lock"} {
		data, err := os.ReadFile(filepath.Join(l.root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "hermes-box.lock" {
			data = spoil(t, data)
		}
		l.write(t, filepath.Join(dir, name), data)
	}
	o := l.runIn(t, dir, "", "create", "--json")
	if o.status != 1 || !strings.Contains(o.stdout, "integrity_failed") {
		t.Errorf("create with a sabotaged artifact: status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	if vms := strings.TrimSpace(l.lima(t, "list", "-q").stdout); vms != "stranger" {
		t.Errorf("VMs left: %q", vms)
	}
	if disks := l.lima(t, "disk", "list").stdout; strings.Contains(disks, "e2e-data") {
		t.Errorf("disks left:\n%s", disks)
	}
	if left, _ := os.ReadDir(filepath.Join(l.home(), "boxes")); len(left) != 0 {
		t.Errorf("records left: %v", left)
	}
	var st ops.Status
	if l.json(t, &st, "status"); st.State != "absent" {
		t.Errorf("the box is %s", st.State)
	}
}

// spoil replaces the digest of the uv wheel.
func spoil(t *testing.T, data []byte) []byte {
	t.Helper()
	wheel := regexp.MustCompile(`(?s)(\n  uv:.*?digest: "?sha256:)([0-9a-f]{64})`)
	if !wheel.Match(data) {
		t.Fatal("the lock has no sha256 digest below uv")
	}
	return wheel.ReplaceAll(data, []byte("${1}"+strings.Repeat("0", 64)))
}
