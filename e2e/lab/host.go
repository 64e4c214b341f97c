package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		return nil
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
	return b.exec(ctx, cmd{argv: append(install, missing...), env: []string{env}})
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
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return nil, fmt.Errorf("find out the system of this machine: %w", err)
	}
	codename := osRelease(string(release), "VERSION_CODENAME")
	if osRelease(string(release), "ID") != "debian" || codename == "" {
		return nil, nil
	}
	// apt lists only indexes that it has fetched. A fresh machine has none, so fetch them for the lab alone.
	lists := filepath.Join(b.tmp, "lists")
	if err := os.MkdirAll(filepath.Join(lists, "partial"), 0o755); err != nil {
		return nil, err
	}
	options := []string{"-q", "-o", "Dir::State::lists=" + lists, "-o", "Dir::Cache=" + b.tmp, "-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none"}
	// This fails if one source is broken. The others may be enough.
	_ = b.exec(ctx, cmd{argv: append([]string{"apt-get", "update"}, options...)})
	list := append([]string{"apt-get", "indextargets"}, options...)
	out, err := b.output(ctx, cmd{argv: append(list, "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")})
	if err != nil {
		return nil, err
	}
	return translateSources(string(out), codename, guestSuite), nil
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
