package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hermes-box/ops"
	"hermes-box/ops/schedule"
)

// "backup schedule on" installs a user timer for this box, status reports what is wrong with the timer, and "backup
// schedule off" or destroy removes it. systemctl is a script that links and unlinks the unit as the real one does.
func TestBackupSchedule(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: launchd")
	}
	m := newMachine(t)
	m.makeBox()
	config := filepath.Join(m.dir, "config")
	units := filepath.Join(config, "systemd", "user")
	tools := filepath.Join(m.dir, "tools")
	if err := os.MkdirAll(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	stub := `#!/bin/sh
echo "$*" >>` + m.dir + `/systemctl.log
case "$2" in
enable) mkdir -p ` + units + `/timers.target.wants && ln -sf ../"$3" ` + units + `/timers.target.wants/"$3";;
disable) rm -f ` + units + `/timers.target.wants/"$4";;
esac
`
	if err := os.WriteFile(filepath.Join(tools, "systemctl"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		c := m.cmd("", args...)
		c.Env = append(c.Env, "XDG_CONFIG_HOME="+config, "PATH="+tools+":"+m.bin+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		return string(out), err
	}
	state := func(after string, timer schedule.State, problem string) {
		t.Helper()
		out, err := run("status", "--json")
		if err != nil {
			t.Fatal(err, out)
		}
		s := decode[ops.Status](t, out).Result.Schedule
		if s == nil {
			s = &ops.BackupSchedule{Timer: schedule.Off}
		}
		if s.Timer != timer || (s.Problem == "") != (problem == "") || !strings.Contains(s.Problem, problem) {
			t.Errorf("after %s: %+v", after, s)
		}
	}
	files := func() (all []string) {
		_ = filepath.WalkDir(config, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		return all
	}
	plain, err := os.ReadFile(filepath.Join(m.dir, "hermes-box.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m.write("hermes-box.yaml", append(plain, "backup: {every: 6h}\n"...))
	state("every was set", schedule.Off, "no timer is installed")
	for _, off := range [][]string{{"backup", "schedule", "off"}, {"destroy", "--force"}} {
		if out, err := run("backup", "schedule", "on"); err != nil || !strings.Contains(out, "timer:       on") {
			t.Fatal(err, out)
		}
		state("on", schedule.On, "")
		if all := files(); len(all) != 3 || !strings.Contains(all[0], "hermes-box-main-") {
			t.Errorf("installed: %q", all)
		}
		m.write("hermes-box.yaml", append(plain, "backup: {every: 12h}\n"...))
		state("every was changed", schedule.Outdated, "another config")
		m.write("hermes-box.yaml", plain)
		state("every was removed", schedule.Outdated, "the config has no backup.every")
		m.write("hermes-box.yaml", append(plain, "backup: {every: 6h}\n"...))
		if out, err := run(off...); err != nil || strings.Contains(out, "no timer is installed") { // a timer that was removed on purpose is not reported
			t.Fatal(err, out)
		}
		if all := files(); len(all) > 0 {
			t.Errorf("after %s: %q", off[0], all)
		}
	}
	log, err := os.ReadFile(filepath.Join(m.dir, "systemctl.log"))
	if err != nil || !strings.Contains(string(log), "--user enable hermes-box-main-") {
		t.Errorf("%v: %s", err, log)
	}
}
