package lock

import (
	"fmt"
	"slices"
)

// Drift lists how a desired lock differs from the applied one. Empty lists mean no drift.
type Drift struct {
	Platform   []Change // Lima, arch, image, packages: applied by a rebuild
	Components []Change // in Order: applied by an update
}

// Change is one difference. From is empty for something new, To for something removed. Reason says what differs, since
// From and To may be the same version.
type Change struct {
	Name   string // "lima", "image", "package libatomic1", "claude"
	From   string
	To     string
	Reason string
}

// Any reports whether there is drift.
func (d Drift) Any() bool { return len(d.Platform)+len(d.Components) > 0 }

// Compare compares the desired lock with the applied one, which is nil if nothing is applied yet. Urls and sources are
// not compared, since digests identify the artifacts.
func Compare(applied, desired *Lock) Drift {
	if applied == nil {
		applied = &Lock{}
	}
	return Drift{Platform: comparePlatform(applied, desired), Components: compareComponents(applied, desired)}
}

func comparePlatform(applied, desired *Lock) []Change {
	var changes []Change
	add := func(name, from, to, reason string) {
		if from != to {
			changes = append(changes, Change{name, from, to, reason})
		}
	}
	add("lima", applied.Lima.Version, desired.Lima.Version, "version")
	add("arch", applied.Arch, desired.Arch, "arch")
	a, d := applied.Image, desired.Image
	add("image", a.Disk.Digest, d.Disk.Digest, "digest")
	add("kernel", a.kernelDigest(), d.kernelDigest(), "digest")
	add("kernel cmdline", a.cmdline(), d.cmdline(), "command line")
	add("initrd", a.initrdDigest(), d.initrdDigest(), "digest")
	return append(changes, comparePackages(applied.Packages, desired.Packages)...)
}

func (i Image) kernelDigest() string {
	if i.Kernel == nil {
		return ""
	}
	return i.Kernel.Digest
}

func (i Image) cmdline() string {
	if i.Kernel == nil {
		return ""
	}
	return i.Kernel.Cmdline
}

func (i Image) initrdDigest() string {
	if i.Initrd == nil {
		return ""
	}
	return i.Initrd.Digest
}

// comparePackages pairs packages by name; their order does not matter.
func comparePackages(applied, desired []Package) []Change {
	var changes []Change
	find := func(list []Package, name string) *Package {
		if i := slices.IndexFunc(list, func(p Package) bool { return p.Name == name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, d := range desired {
		switch a := find(applied, d.Name); {
		case a == nil:
			changes = append(changes, Change{"package " + d.Name, "", d.Version, "added"})
		case a.Version != d.Version:
			changes = append(changes, Change{"package " + d.Name, a.Version, d.Version, "version"})
		case a.Artifact.Digest != d.Artifact.Digest:
			changes = append(changes, Change{"package " + d.Name, a.Version, d.Version, "digest"})
		}
	}
	for _, a := range applied {
		if find(desired, a.Name) == nil {
			changes = append(changes, Change{"package " + a.Name, a.Version, "", "removed"})
		}
	}
	return changes
}

func compareComponents(applied, desired *Lock) []Change {
	var changes []Change
	for _, name := range Order {
		a, d := applied.Components[name], desired.Components[name]
		switch {
		case a == nil && d == nil:
		case a == nil:
			changes = append(changes, Change{name, "", d.Version, "not applied"})
		case d == nil:
			changes = append(changes, Change{name, a.Version, "", "removed"})
		case a.Identity() != d.Identity():
			changes = append(changes, Change{name, a.Version, d.Version, why(a, d)})
		}
	}
	return changes
}

// why describes in a few words how two components differ.
func why(a, d *Component) string {
	if a.Version != d.Version {
		return "version"
	}
	for i, x := range d.Artifacts {
		if i >= len(a.Artifacts) || a.Artifacts[i].Name != x.Name {
			return fmt.Sprintf("artifact %s is new", x.Name)
		}
		if a.Artifacts[i].Digest != x.Digest {
			return fmt.Sprintf("digest of %s", x.Name)
		}
	}
	if len(a.Artifacts) > len(d.Artifacts) {
		return fmt.Sprintf("artifact %s is gone", a.Artifacts[len(d.Artifacts)].Name)
	}
	return "python"
}
