package bootstrap

import (
	"path"
	"strings"
	"testing"

	"hermes-box/assets/guestfiles"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// The units and the engine must use the same paths.
func TestUnitsAgreeWithEngine(t *testing.T) {
	const units, hermesStart = "/etc/systemd/system/", layout.Current + "/hermes/bin/hermes"
	text := map[string]string{}
	for _, f := range guestfiles.All() {
		text[f.Path] = string(f.Data)
	}
	for name, wants := range map[string][]string{
		layout.HermesUnit: {"ConditionPathExists=" + hermesStart + "\n", "ExecStart=" + hermesStart + " \\\n    gateway run",
			"EnvironmentFile=-" + layout.EnvironmentFile, "User=" + layout.AgentUser, "WorkingDirectory=" + layout.Workspace,
			// The gateway exits with 1 when it is stopped, and with 75 to be started again.
			"\nSuccessExitStatus=1 75\n", "\nOOMScoreAdjust=-200\n", "\nOOMPolicy=continue\n",
			// Without this setting Hermes downloads a scanner that the lock does not pin.
			"Environment=TIRITH_ENABLED=false\n"},
		"hermes-dashboard.service": {"Environment=TIRITH_ENABLED=false\n", "ConditionPathExists=" + hermesStart + "\n", "EnvironmentFile=" + layout.Ports,
			"--host 127.0.0.1 --port ${DASHBOARD_PORT}", "\nOOMPolicy=continue\n"},
		layout.ExecutorUnit: {"ConditionPathExists=" + layout.ExecutorImage + "\n", "EnvironmentFile=" + layout.ExecutorImage, "EnvironmentFile=" + layout.Ports,
			"--env-file " + layout.ExecutorToken, "--volume " + layout.ExecutorData + ":/data", "--publish 127.0.0.1:${EXECUTOR_PORT}:4788",
			"--pull=never", "ExecStartPre=" + protocol.HelperPath + " executor-prestart",
			"\nOOMScoreAdjust=-200\n", "\nOOMPolicy=continue\n"},
		layout.RecoveryUnit: {"ExecStart=" + protocol.HelperPath + " " + protocol.VerbRecover},
	} {
		for _, want := range wants {
			if !strings.Contains(text[units+name], want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
		if !strings.Contains(text[units+name], "RequiresMountsFor="+protocol.DataDir+" "+layout.LoginHome+" "+layout.Workspace+"\n") {
			t.Errorf("%s does not require all three mounts of the data disk", name)
		}
		if name != layout.RecoveryUnit && (!strings.Contains(text[units+name], "Requires="+layout.RecoveryUnit) ||
			!strings.Contains(text[units+name], "ConditionPathIsMountPoint="+protocol.DataDir)) {
			t.Errorf("%s may run before the data disk is checked", name)
		}
	}
	for _, unit := range guestfiles.Enabled {
		if !strings.Contains(text[units+unit], "\nWantedBy=") {
			t.Errorf("%s cannot be enabled", unit)
		}
	}
	if !strings.Contains(text[guestfiles.SSHD], "AuthorizedKeysFile "+path.Dir(keysFile)+"/%u") {
		t.Error("sshd reads its keys from another path than the bootstrap writes")
	}
	if !strings.Contains(text[units+swapUnit], "What="+swapFile+"\n") {
		t.Error("the swap unit names another file than the bootstrap makes")
	}
	// Hermes's own setup offers to remove hermes.service if the file of that unit has one of the texts below.
	for _, mark := range []string{"/hermes gateway ", " hermes gateway ", "hermes_cli"} {
		if strings.Contains(text[units+layout.HermesUnit], mark) {
			t.Errorf("the setup of hermes would offer to remove the unit: %q", mark)
		}
	}
	// The executor unit must not contain the token.
	if out := text[units+layout.ExecutorUnit]; strings.Contains(out, "EXECUTOR_AUTH_TOKEN") {
		t.Error("the executor unit contains the token")
	}
}

// A process that is killed for lack of memory dies alone, and what the box needs to be reached is killed last.
func TestUnitsWhenMemoryRunsOut(t *testing.T) {
	text := map[string]string{}
	for _, f := range guestfiles.All() {
		text[f.Path] = string(f.Data)
	}
	for name, wants := range map[string][]string{
		"/etc/systemd/user.conf.d/hermes-box.conf":           {"[Manager]\n", "\nDefaultOOMPolicy=continue\n"},
		"/etc/systemd/system/system.slice.d/hermes-box.conf": {"[Slice]\n", "\nMemoryMin=256M\n", "\nMemoryLow=768M\n"},
		"/etc/systemd/system/hermes-box-helper.service":      {"\nOOMScoreAdjust=-500\n"},
	} {
		for _, want := range wants {
			if !strings.Contains(text[name], want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
	}
}
