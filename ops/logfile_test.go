package ops

import (
	"testing"

	"hermes-box/limactl"
)

// A line of the command log holds the command that ran in the box, without the options of ssh. It never holds the
// arguments of that command, which may be secret.
func TestCommandLogLine(t *testing.T) {
	ssh := []string{"/usr/bin/ssh", "-F", "/home/me/lima/main/ssh.config", "-o", "ControlPath=none", "-T"}
	for _, c := range []struct {
		command limactl.Command
		want    string
	}{
		{limactl.Command{Args: append(ssh[:6:6], "--", "lima-main", "set -- secret"), Inside: "helper status"}, "in the box: helper status"},
		{limactl.Command{Args: append(ssh[:6:6], "--", "lima-main", "set -- secret")}, "ssh -T -- lima-main <13 bytes>"},
		{limactl.Command{Args: []string{"/usr/bin/ssh", "-F", "/x/ssh.config", "-O", "exit", "lima-main"}, Inside: "helper status"}, "ssh -O exit lima-main"},
		{limactl.Command{Args: []string{"/opt/bin/limactl", "list", "--json"}}, "limactl list --json"},
	} {
		if got := entry(c.command).Line(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
