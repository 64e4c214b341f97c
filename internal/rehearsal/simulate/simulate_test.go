package simulate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes-box/assets/guestfiles"
	"hermes-box/guest/machine"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
}

func active(t *testing.T, s *Machine, unit string) bool {
	t.Helper()
	units, err := s.Units(context.Background(), unit)
	if err != nil {
		t.Fatal(err)
	}
	return units[unit].Active == "active"
}

func TestUnitsOutliveTheProcess(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	s := Open(root)
	if err := errors.Join(s.EnableUnit(ctx, "executor.service"), s.StartUnit(ctx, "executor.service")); err != nil {
		t.Fatal(err)
	}
	if active(t, s, "executor.service") {
		t.Error("the unit runs without its release")
	}
	write(t, filepath.Join(root, conditions["executor.service"]), "")
	if err := s.StartUnit(ctx, "executor.service"); err != nil {
		t.Fatal(err)
	}
	s = Open(root)
	if !active(t, s, "executor.service") {
		t.Error("the unit does not run in the next process")
	}
	if err := s.Reboot(); err != nil || active(t, s, "executor.service") {
		t.Errorf("the unit runs after a reboot: %v", err)
	}
	if err := s.StartEnabled(ctx); err != nil || !active(t, s, "executor.service") {
		t.Errorf("the unit does not start at boot: %v", err)
	}
}

// The simulated conditions are those in the unit files.
func TestConditionsMatchTheUnitFiles(t *testing.T) {
	for unit, path := range conditions {
		found := false
		for _, f := range guestfiles.All() {
			if filepath.Base(f.Path) == unit {
				found = strings.Contains(string(f.Data), "\nConditionPathExists="+path+"\n")
			}
		}
		if !found {
			t.Errorf("%s has no condition on %s", unit, path)
		}
	}
}

func TestFail(t *testing.T) {
	s := Open(t.TempDir())
	sabotage := errors.New("sabotage")
	s.Fail = func(effect string) error {
		if effect == "stop x.service" || effect == "read mount /data" {
			return sabotage
		}
		return nil
	}
	if _, err := s.MountedUUID(context.Background(), filepath.Join(s.Root(), "data")); !errors.Is(err, sabotage) {
		t.Errorf("MountedUUID: %v", err)
	}
	err := errors.Join(s.StartUnit(context.Background(), "x.service"), s.StopUnit(context.Background(), "x.service"))
	if !errors.Is(err, sabotage) || !active(t, s, "x.service") {
		t.Errorf("%v", err)
	}
	if want := []string{"start x.service", "stop x.service"}; !slices.Equal(s.Did(), want) {
		t.Errorf("did %v", s.Did())
	}
}

func TestPackages(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	tree, other := filepath.Join(root, "sum"), filepath.Join(root, "other")
	write(t, tree, "tree 2.2.1-1\n")
	write(t, other, "not an archive")
	if err := Open(root).InstallPackages(ctx, []string{tree}); err != nil {
		t.Fatal(err)
	}
	if version, err := Open(root).PackageVersion(ctx, "tree"); version != "2.2.1-1" || err != nil {
		t.Errorf("%q, %v", version, err)
	}
	if err := Open(root).InstallPackages(ctx, []string{other}); err == nil {
		t.Error("installed a file that is not a package")
	}
}

func TestRun(t *testing.T) {
	root := t.TempDir()
	s := Open(root)
	write(t, filepath.Join(root, "tool"), "#!/bin/sh\necho \"$1 $HOME\"\nexit 3\n")
	out, err := s.Run(context.Background(), machine.Cmd{Path: filepath.Join(root, "tool"), Args: []string{"a b"}, Env: []string{"HOME=/x"}})
	var exit *machine.ExitError
	if !errors.As(err, &exit) || exit.Status != 3 || string(out) != "a b /x\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := s.Run(context.Background(), machine.Cmd{Path: "/bin/echo", Args: []string{"not really run"}}); err != nil || len(out) != 0 {
		t.Errorf("%q, %v", out, err)
	}
}

func TestDisk(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	s := Open(root)
	if _, err := s.Disk(ctx, "/dev/vdb"); err == nil {
		t.Error("found a disk that was not attached")
	}
	if err := errors.Join(s.AddDisk("/dev/vdb", machine.Disk{Size: 1 << 30, Blank: true}), s.Format(ctx, "/dev/vdb", "u-1", "data")); err != nil {
		t.Fatal(err)
	}
	d, err := s.Disk(ctx, "/dev/vdb")
	if err != nil || d.Blank || d.UUID != "u-1" || d.Size != 1<<30 {
		t.Errorf("%+v, %v", d, err)
	}
	write(t, filepath.Join(root, "etc/fstab"), "UUID=u-1 /data ext4 nofail 0 2\n/data/home /home none bind 0 0\n")
	write(t, filepath.Join(root, "data/home/file"), "x")
	if err := errors.Join(s.Mount(ctx, filepath.Join(root, "data")), s.Mount(ctx, filepath.Join(root, "home"))); err != nil {
		t.Fatal(err)
	}
	if got, err := s.MountedUUID(ctx, filepath.Join(root, "data")); got != "u-1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "home/file")); string(text) != "x" {
		t.Errorf("the bind mount of the home does not work: %v", err)
	}
	if err := s.Mount(ctx, filepath.Join(root, "other")); err == nil {
		t.Error("mounted a path that is not in fstab")
	}
}
