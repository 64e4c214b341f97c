package rehearsal

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func diskDir(home, name string) string { return filepath.Join(home, "_disks", name) }

type diskInfo struct {
	Name        string `json:"name"`
	Size        int64  `json:"size"`
	Format      string `json:"format"`
	Dir         string `json:"dir"`
	Instance    string `json:"instance"`
	InstanceDir string `json:"instanceDir"`
	MountPoint  string `json:"mountPoint"`
}

func inspectDisk(home, name string) (diskInfo, error) {
	d := diskInfo{Name: name, Dir: diskDir(home, name), MountPoint: "/mnt/lima-" + name, Format: "raw"}
	st, err := os.Stat(filepath.Join(d.Dir, "datadisk"))
	if err != nil {
		return d, err
	}
	d.Size = st.Size()
	// As in Lima, the format is qcow2 if qemu-img is installed, even if raw was asked for.
	if _, err := exec.LookPath("qemu-img"); err == nil {
		d.Format = "qcow2"
	}
	if owner, err := os.Readlink(filepath.Join(d.Dir, "in_use_by")); err == nil {
		d.Instance, d.InstanceDir = filepath.Base(owner), owner
	}
	return d, nil
}

func disk(home string, args []string) int {
	if len(args) == 0 {
		return fatal("disk needs a verb")
	}
	set, names := flags(args[1:], "size", "format")
	switch args[0] {
	case "list":
		return diskList(home, names)
	case "create":
		return diskCreate(home, names[0], bytes(set["size"]))
	case "delete":
		return diskDelete(home, names[0], set["force"] != "")
	case "unlock":
		return diskUnlock(home, names[0])
	}
	return fatal("unknown command %q for \"limactl disk\"", args[0])
}

func diskList(home string, names []string) int {
	if len(names) == 0 {
		entries, _ := os.ReadDir(filepath.Join(home, "_disks"))
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		if !exists(diskDir(home, name)) {
			say("warning", "No disk matching %s found.", name)
			continue
		}
		d, err := inspectDisk(home, name)
		if err != nil {
			say("error", "disk `%s` does not exist?", name)
			continue
		}
		line, err := json.Marshal(d)
		if err != nil {
			return fatal("%v", err)
		}
		fmt.Println(string(line))
	}
	return 0
}

func diskCreate(home, name string, size int64) int {
	dir := diskDir(home, name)
	if exists(dir) {
		return fatal("disk `%s` already exists (`%s`)", name, dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fatal("%v", err)
	}
	if has(home, SmallDisk) {
		if err := mountSmall(dir); err != nil {
			return fatal("%v", err)
		}
	}
	file := filepath.Join(dir, "datadisk")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return fatal("%v", err)
	}
	if err := os.Truncate(file, size); err != nil {
		return fatal("%v", err)
	}
	return 0
}

func diskDelete(home, name string, force bool) int {
	d, err := inspectDisk(home, name)
	if err != nil {
		say("warning", "Ignoring non-existent disk `%s`", name)
		return 0
	}
	if has(home, DiskDeleteSkipped) {
		say("warning", "Skipping deleting disk `%s`, disk is referenced by one or more non-running instances: %q", name, []string{"gone"})
		return 0
	}
	if !force {
		if d.Instance != "" {
			return fatal("cannot delete disk `%s` in use by instance `%s`", name, d.Instance)
		}
		var users []string
		for _, other := range instances(home) {
			if in, err := load(home, other); err == nil && slices.Contains(in.disks, name) {
				users = append(users, other)
			}
		}
		if len(users) > 0 {
			say("warning", "Skipping deleting disk `%s`, disk is referenced by one or more non-running instances: %q", name, users)
			say("warning", "To delete anyway, run `limactl disk delete --force %s`", name)
			return 0
		}
	}
	unmountSmall(d.Dir)
	if err := removeAll(d.Dir); err != nil {
		return fatal("%v", err)
	}
	say("info", "Deleted `%s` (`%s`)", name, d.Dir)
	return 0
}

func diskUnlock(home, name string) int {
	d, err := inspectDisk(home, name)
	switch {
	case err != nil:
		say("warning", "Ignoring non-existent disk `%s`", name)
		return 0
	case d.Instance == "":
		say("warning", "Ignoring unlocked disk `%s`", name)
		return 0
	}
	if in, err := load(home, d.Instance); err == nil {
		if len(in.errors) > 0 {
			say("warning", "Cannot unlock disk `%s`, attached instance `%s` has errors: %+v", name, d.Instance, in.errors)
			return 0
		}
		if in.Status == "Running" {
			say("warning", "Cannot unlock disk `%s` used by running instance `%s`", name, d.Instance)
			return 0
		}
	}
	if err := os.Remove(filepath.Join(d.Dir, "in_use_by")); err != nil {
		return fatal("failed to unlock disk `%s`: %v", name, err)
	}
	say("info", "Unlocked disk `%s` (`%s`)", name, d.Dir)
	return 0
}
