package guestfiles

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The status bar warns while the data disk is not mounted, and no longer than that.
func TestTmWarnsWithoutDataDisk(t *testing.T) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not here")
	}
	dir, socket := t.TempDir(), filepath.Join(t.TempDir(), "s")
	script := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ours := tmux + " -S " + socket + " -f /dev/null "
	script("tmux", `if [ "$1" != attach-session ]; then exec `+ours+`"$@"; fi`)
	script("systemd-run", "exit 1")
	script("infocmp", "exit 0")
	script("mountpoint", `test -e "`+dir+`/mounted"`)
	script("tm", strings.TrimPrefix(string(find(t, "/usr/local/bin/tm").Data), "#!/bin/sh\n"))
	defer exec.Command(tmux, "-S", socket, "kill-server").Run()
	bar := func() string {
		cmd := exec.Command(filepath.Join(dir, "tm"))
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("tm: %v: %s", err, out)
		}
		out, err := exec.Command("sh", "-c", ours+"show-options -t =main:").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if got := bar(); !strings.Contains(got, "status-style bg=red") || !strings.Contains(got, "the data disk is not mounted") {
		t.Errorf("without the data disk the bar is\n%s", got)
	}
	script("mounted", "")
	if got := bar(); strings.Contains(got, "bg=red") || strings.Contains(got, "data disk") {
		t.Errorf("with the data disk the bar is\n%s", got)
	}
}
