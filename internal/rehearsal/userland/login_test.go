package userland

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol"
)

func TestReal(t *testing.T) {
	m := Machine{Root: "/r"}
	for command, want := range map[string]string{
		"ls /workspace": "ls /r/workspace",
		"/usr/local/libexec/hermes-box-guest status": "/r/usr/local/libexec/hermes-box-guest status",
		"cat '/data/a b'":                     "cat '/r/data/a b'",
		`cat "/data/$x"`:                      `cat "/r/data/$x"`,
		"A=/data/x:/home/agent/y z":           "A=/r/data/x:/r/home/agent/y z",
		"sh -c 'echo x >/workspace/file'":     "sh -c 'echo x >/r/workspace/file'",
		"cd -- /workspace; pwd":               "cd -- /r/workspace; pwd",
		"ls /database /usr/bin /dev/null /":   "ls /database /usr/bin /dev/null /",
		"ls /data/../etc":                     "ls /data/../etc",
		"ls a/data http://h/data":             "ls a/data http://h/data",
		`ls \/data`:                           `ls \/data`,
		"ls /var/lib/hermes-box/applied.json": "ls /r" + protocol.StateDir + "/applied.json",
		"":                                    "",
	} {
		if got := m.real(command); got != want {
			t.Errorf("%q becomes %q, want %q", command, got, want)
		}
	}
}

// real does not split or join the words of a command, whatever characters the name of the directory has.
func TestRealInOddDirectories(t *testing.T) {
	for _, name := range []string{"a b", "it's", `q"q`, "$HOME", "`id`", `b\s`} {
		root := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(filepath.Join(root, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
		m := Machine{Root: root}
		for _, word := range []string{"/data/x", "'/data/x'", `"/data/x"`} {
			out, err := exec.Command("/bin/sh", "-c", m.real("printf '%s|' "+word+" end")).Output()
			if want := filepath.Join(root, "data/x") + "|end|"; err != nil || string(out) != want {
				t.Errorf("%s in %s: %q, want %q (%v)", word, name, out, want, err)
			}
		}
	}
}

// FuzzReal checks that real does not change a command without paths of the machine.
func FuzzReal(f *testing.F) {
	f.Add("a b", "'")
	f.Add("/usr/bin/x", `\`)
	f.Fuzz(func(t *testing.T, a, b string) {
		m := Machine{Root: "/r"}
		for _, top := range tops {
			if strings.Contains(a+b, top) {
				t.Skip()
			}
		}
		if command := shellescape.QuoteCommand([]string{"printf", a, b}); m.real(command) != command {
			t.Errorf("%q becomes %q", command, m.real(command))
		}
	})
}

// A login does not find the tmux server of this host, so that an attach to the demo does not attach to the user's own
// session.
func TestLoginHasNoTmuxOfTheHost(t *testing.T) {
	m := Machine{Root: t.TempDir()}
	if want := "TMUX_TMPDIR=" + m.path("tmp"); !slices.Contains(m.Login("true", "").Env, want) {
		t.Errorf("%s is not in the environment", want)
	}
}
