package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hermes-box/limactl"
)

// tool is something that the lab or a box needs on the host. program is its name or, if it is not on the PATH, the
// path of a file. pkg is its Debian package.
type tool struct{ program, pkg string }

var tools = []tool{
	{"qemu-system-x86_64", "qemu-system-x86"},
	{"/usr/share/OVMF/OVMF_CODE.fd", "ovmf"},
	{"qemu-img", "qemu-utils"},
	{"mmdebstrap", "mmdebstrap"},
	{"/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring"},
	{"mke2fs", "e2fsprogs"},
	{"ssh", "openssh-client"},
	{"tmux", "tmux"},
	{"zstd", "zstd"},
	{"tar", "tar"},
	{"npm", "npm"},
	{"python3", "python3"},
	{"pip3", "python3-pip"},
}

// userTools are the programs with which an ordinary user builds files that belong to root in the guest.
var userTools = []tool{{"fakeroot", "fakeroot"}, {"newuidmap", "uidmap"}}

// installTools installs missing tools. That needs root.
func (b *build) installTools(ctx context.Context) error {
	need := tools
	if os.Geteuid() != 0 {
		need = append(need, userTools...)
	}
	missing := missingPackages(need, func(program string) bool {
		_, err := exec.LookPath(program)
		if strings.HasPrefix(program, "/") {
			_, err = os.Stat(program)
		}
		return err == nil
	})
	if len(missing) == 0 {
		return b.newerQEMU(ctx)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("missing: %[1]s\nhint: sudo apt-get update && sudo apt-get install --yes --no-install-recommends %[1]s", strings.Join(missing, " "))
	}
	apt := []string{"-o", "DPkg::Lock::Timeout=300", "-q"}
	env := "DEBIAN_FRONTEND=noninteractive"
	// This fails if one source is broken. The install may still succeed then.
	_ = b.exec(ctx, cmd{argv: append([]string{"apt-get", "update"}, apt...), env: []string{env}})
	install := append([]string{"apt-get", "install", "--yes", "--no-install-recommends"}, apt...)
	b.built = true
	if err := b.exec(ctx, cmd{argv: append(install, missing...), env: []string{env}}); err != nil {
		return err
	}
	return b.newerQEMU(ctx)
}

// newerQEMU installs the qemu of Debian's backports if this machine's own is too old to emulate several CPUs safely. If
// that fails, or without root, emulated boxes are slower: see limactl.Accel.
func (b *build) newerQEMU(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return nil
	}
	version, err := b.output(ctx, cmd{argv: []string{"qemu-system-x86_64", "--version"}})
	if err != nil || limactl.OldQEMU(string(version)) == "" {
		return err
	}
	codename, targets, options, err := b.indexes(ctx)
	if err != nil || codename == "" {
		return err
	}
	list := filepath.Join(b.tmp, "backports.list")
	if err := os.WriteFile(list, []byte(strings.Join(withBackports(translateSources(targets, codename, codename), codename), "\n")+"\n"), 0o644); err != nil {
		return err
	}
	options = append(options, "-o", "DPkg::Lock::Timeout=300", "-o", "Dir::Etc::sourcelist="+list, "-o", "Dir::Etc::sourceparts=-")
	_ = b.exec(ctx, cmd{argv: append([]string{"apt-get", "update"}, options...)})
	install := append([]string{"apt-get", "install", "--yes", "--no-install-recommends", "-t", codename + "-backports"}, options...)
	if err := b.exec(ctx, cmd{argv: append(install, "qemu-system-x86", "qemu-utils"), env: []string{"DEBIAN_FRONTEND=noninteractive"}}); err != nil {
		fmt.Fprintf(b.log, "qemu stays as it is: %v\n", err)
		return nil
	}
	b.built = true
	return nil
}

// withBackports adds the backports of the release to its sources.
func withBackports(sources []string, codename string) []string {
	for _, line := range sources {
		if base, ok := strings.CutSuffix(line, " "+codename+" main"); ok {
			return append(slices.Clone(sources), base+" "+codename+"-backports main")
		}
	}
	return sources
}

func missingPackages(need []tool, have func(program string) bool) []string {
	var missing []string
	for _, t := range need {
		if !have(t.program) {
			missing = append(missing, t.pkg)
		}
	}
	return missing
}

// guestSources returns lines of sources.list for the guest's suite, with the mirrors of this machine. On a machine that
// is not Debian it returns none, and mmdebstrap uses its default.
func (b *build) guestSources(ctx context.Context) ([]string, error) {
	codename, targets, _, err := b.indexes(ctx)
	if err != nil || codename == "" {
		return nil, err
	}
	return translateSources(targets, codename, guestSuite), nil
}

// indexes returns the name of this machine's Debian release, the indexes that apt has for it as lines "uri release
// component", and the options for apt to use them. The name is empty on a machine that is not Debian.
func (b *build) indexes(ctx context.Context) (codename, targets string, options []string, err error) {
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", "", nil, fmt.Errorf("find out the system of this machine: %w", err)
	}
	codename = osRelease(string(release), "VERSION_CODENAME")
	if osRelease(string(release), "ID") != "debian" || codename == "" {
		return "", "", nil, nil
	}
	// apt lists only indexes that it has fetched. A fresh machine has none, so fetch them for the lab alone.
	lists := filepath.Join(b.tmp, "lists")
	if err := os.MkdirAll(filepath.Join(lists, "partial"), 0o755); err != nil {
		return "", "", nil, err
	}
	options = []string{"-q", "-o", "Dir::State::lists=" + lists, "-o", "Dir::Cache=" + b.tmp, "-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none"}
	// This fails if one source is broken. The others may be enough.
	_ = b.exec(ctx, cmd{argv: append([]string{"apt-get", "update"}, options...)})
	list := append([]string{"apt-get", "indextargets"}, options...)
	out, err := b.output(ctx, cmd{argv: append(list, "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")})
	return codename, string(out), options, err
}

// translateSources turns lines "uri release component" of one Debian release into sources of another release.
func translateSources(targets, from, to string) []string {
	var lines []string
	seen := map[string]bool{}
	for line := range strings.Lines(targets) {
		f := strings.Fields(line)
		if len(f) != 3 || f[2] != "main" {
			continue
		}
		pocket, ok := strings.CutPrefix(f[1], from)
		if !ok || pocket != "" && pocket != "-updates" && pocket != "-security" {
			continue
		}
		source := fmt.Sprintf("deb %s %s%s main", f[0], to, pocket)
		if !seen[source] {
			seen[source] = true
			lines = append(lines, source)
		}
	}
	return lines
}

func osRelease(text, key string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}
