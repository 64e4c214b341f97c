package lock

import (
	"reflect"
	"testing"
)

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Lock)
		want   Drift
	}{
		{"nothing", func(l *Lock) {}, Drift{}},
		{"urls, sizes, sources, names for people", func(l *Lock) {
			for _, c := range l.Components {
				c.Artifacts[0].URL = "https://mirror.example.org/x"
				c.Source = "pkg:generic/x@" + c.Version
			}
			l.Image.Disk.URL, l.Image.Kernel.URL, l.Packages[0].Artifact.URL = "file:///a", "file:///b", "file:///c"
			l.Image.Name = "Ubuntu"
		}, Drift{}},
		{"lima", func(l *Lock) { l.Lima.Version = "2.1.4" }, Drift{Platform: []Change{{"lima", "2.1.3", "2.1.4", "version"}}}},
		{"arch", func(l *Lock) { l.Arch = "amd64" }, Drift{Platform: []Change{{"arch", "arm64", "amd64", "arch"}}}},
		{"image", func(l *Lock) { l.Image.Disk.Digest = sha256Of("x") }, Drift{Platform: []Change{{"image", sha256Of("disk"), sha256Of("x"), "digest"}}}},
		{"kernel command line", func(l *Lock) { l.Image.Kernel.Cmdline = "ro" }, Drift{Platform: []Change{
			{"kernel cmdline", "root=/dev/vda rw console=ttyS0 net.ifnames=0 # not a comment", "ro", "command line"}}}},
		{"kernel gone", func(l *Lock) { l.Image.Kernel, l.Image.Initrd = nil, nil }, Drift{Platform: []Change{
			{"kernel", sha256Of("kernel"), "", "digest"},
			{"kernel cmdline", "root=/dev/vda rw console=ttyS0 net.ifnames=0 # not a comment", "", "command line"},
			{"initrd", sha256Of("initrd"), "", "digest"}}}},
		{"packages", func(l *Lock) {
			l.Packages = []Package{{Name: "jq", Version: "1.7"}}
		}, Drift{Platform: []Change{{"package jq", "", "1.7", "added"}, {"package libatomic1", "1:14.2.0-19~bpo12+1", "", "removed"}}}},
		{"package version", func(l *Lock) { l.Packages[0].Version = "2" }, Drift{Platform: []Change{{"package libatomic1", "1:14.2.0-19~bpo12+1", "2", "version"}}}},
		{"package rebuilt", func(l *Lock) { l.Packages[0].Artifact.Digest = sha256Of("x") }, Drift{Platform: []Change{
			{"package libatomic1", "1:14.2.0-19~bpo12+1", "1:14.2.0-19~bpo12+1", "digest"}}}},
		{"components in order", func(l *Lock) {
			l.Components["executor"].Version, l.Components["node"].Version = "1.5.1", "25.0.0"
		}, Drift{Components: []Change{{"node", "24.17.0", "25.0.0", "version"}, {"executor", "1.5.0", "1.5.1", "version"}}}},
		{"component rebuilt", func(l *Lock) { l.Components["claude"].Artifacts[0].Digest = sha512Of("x") }, Drift{Components: []Change{
			{"claude", "2.1.177", "2.1.177", "digest of claude.tgz"}}}},
		{"artifact added", func(l *Lock) {
			c := l.Components["claude"]
			c.Artifacts = append(c.Artifacts, Artifact{Name: "x"})
		}, Drift{Components: []Change{{"claude", "2.1.177", "2.1.177", "artifact x is new"}}}},
		{"artifact gone", func(l *Lock) {
			c := l.Components["hermes"]
			c.Artifacts = c.Artifacts[:1]
		}, Drift{Components: []Change{{"hermes", "0.19.0", "0.19.0", "artifact cpython.tar.gz is gone"}}}},
		{"python", func(l *Lock) { l.Components["hermes"].Python.Version = "3.14" }, Drift{Components: []Change{
			{"hermes", "0.19.0", "0.19.0", "python"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			desired := sample(t)
			c.change(desired)
			got := Compare(sample(t), desired)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if got.Any() != (len(c.want.Platform)+len(c.want.Components) > 0) {
				t.Errorf("Any is %v", got.Any())
			}
		})
	}
}

func TestCompareWithNothingApplied(t *testing.T) {
	got := Compare(nil, sample(t))
	if len(got.Components) != len(Order) {
		t.Fatalf("got %+v", got.Components)
	}
	for i, c := range got.Components {
		if c.Name != Order[i] || c.From != "" || c.To == "" || c.Reason != "not applied" {
			t.Errorf("got %+v", c)
		}
	}
}
