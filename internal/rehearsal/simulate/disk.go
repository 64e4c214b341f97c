package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// disk is an attached block device. Dir, if not empty, is the directory with its content: filesystem.json and, if the
// disk has a file system, files/. Without Dir the disk is only recorded.
type disk struct {
	machine.Disk
	Dir string `json:"dir,omitempty"`
}

// filesystem is the content of filesystem.json.
type filesystem struct {
	Type string `json:"type"`
	UUID string `json:"uuid"`
}

// AddDisk attaches a block device that is only recorded. Files on it are in the machine's own directory.
func (s *Machine) AddDisk(device string, d machine.Disk) error {
	return s.change("attach "+device, func(st *state) error { st.Disks[device] = disk{Disk: d}; return nil })
}

// Attach attaches a block device whose content is in a separate directory, so that it outlives the machine.
func (s *Machine) Attach(device, dir string, size int64) error {
	return s.change("attach "+device, func(st *state) error {
		st.Disks[device] = disk{Disk: machine.Disk{Size: size}, Dir: dir}
		return nil
	})
}

// read returns the current content of the disk.
func (d disk) read() (machine.Disk, error) {
	if d.Dir == "" {
		return d.Disk, nil
	}
	var on filesystem
	err := readJSON(filepath.Join(d.Dir, "filesystem.json"), &on)
	if errors.Is(err, fs.ErrNotExist) {
		return machine.Disk{Size: d.Size, Blank: true}, nil
	}
	return machine.Disk{Size: d.Size, Type: on.Type, UUID: on.UUID}, err
}

// Disk returns the content of an attached disk.
func (s *Machine) Disk(_ context.Context, device string) (d machine.Disk, err error) {
	if err := s.failRead("disk " + device); err != nil {
		return d, err
	}
	err = errors.Join(s.view(func(st *state) {
		have, ok := st.Disks[device]
		if !ok {
			err = fmt.Errorf("%s: no such device", device)
			return
		}
		d, err = have.read()
	}), err)
	return d, err
}

// Format makes an empty file system on the device. It has two effects, "format DEVICE UUID" and "formatted DEVICE":
// if the second one fails, the disk has half a file system, which cannot be recognized.
func (s *Machine) Format(_ context.Context, device, uuid, label string) error {
	if len(label) > 16 {
		return fmt.Errorf("label %q: ext4 holds 16 bytes", label)
	}
	if err := s.change("format "+device+" "+uuid, func(st *state) error { return st.write(device, filesystem{}) }); err != nil {
		return err
	}
	return s.change("formatted "+device, func(st *state) error { return st.write(device, filesystem{"ext4", uuid}) })
}

// write replaces the content of the device with an empty file system.
func (st *state) write(device string, f filesystem) error {
	d, ok := st.Disks[device]
	if !ok {
		return fmt.Errorf("%s: no such device", device)
	}
	d.Blank, d.Type, d.UUID = false, f.Type, f.UUID
	st.Disks[device] = d
	if d.Dir == "" {
		return nil
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(filepath.Join(d.Dir, "files")), os.MkdirAll(filepath.Join(d.Dir, "files"), 0o755),
		os.WriteFile(filepath.Join(d.Dir, "filesystem.json"), data, 0o600))
}

// MountedUUID returns the UUID of the file system mounted at a path.
func (s *Machine) MountedUUID(_ context.Context, path string) (uuid string, err error) {
	at := s.guestPath(path)
	if err := s.failRead("mount " + at); err != nil {
		return "", err
	}
	err = s.view(func(st *state) { uuid = st.Mounts[at] })
	return uuid, err
}

// mapperPath is the device that MapData makes.
const mapperPath = "/dev/mapper/hermes-box-data"

// MapData records the device that is mapped to hermes-box-data.
func (s *Machine) MapData(_ context.Context, device string) (string, error) {
	return mapperPath, s.change("map "+device, func(st *state) error {
		if _, ok := st.Disks[device]; !ok {
			return fmt.Errorf("%s: no such device", device)
		}
		st.Mapped = device
		return nil
	})
}

// dataUnit is the file of the unit that makes mapperPath at boot.
const dataUnit = "/etc/systemd/system/" + layout.DataUnit

// MapUUID does nothing: Reboot has kept the record of MapData.
func (s *Machine) MapUUID(context.Context, string) error { return nil }

// Mount mounts a path as /etc/fstab says: a file system by UUID, or a bind mount of a directory of the data disk. A
// mount is a symlink.
func (s *Machine) Mount(_ context.Context, path string) error {
	at := s.guestPath(path)
	return s.change("mount "+at, func(st *state) error {
		for _, f := range s.fstab() {
			if f[1] == at {
				return s.mount(st, f[0], at)
			}
		}
		return fmt.Errorf("%s is not in fstab", at)
	})
}

func (s *Machine) mount(st *state, what, at string) error {
	uuid, device := strings.CutPrefix(what, "UUID=")
	if what == mapperPath {
		on, err := st.Disks[st.Mapped].read()
		if err != nil || on.UUID == "" {
			return errors.Join(fmt.Errorf("%s is not there", what), err)
		}
		uuid, device = on.UUID, true
	}
	if !device { // a bind mount
		if st.Mounts[protocol.DataDir] == "" {
			return fmt.Errorf("%s is not there", what)
		}
		st.Mounts[at] = st.Mounts[protocol.DataDir]
		return s.bind(filepath.Join(s.root, what), filepath.Join(s.root, at))
	}
	for _, d := range st.Disks {
		on, err := d.read()
		if err != nil || on.UUID != uuid {
			continue
		}
		st.Mounts[at] = uuid
		if d.Dir == "" {
			return nil
		}
		return s.bind(filepath.Join(d.Dir, "files"), filepath.Join(s.root, at))
	}
	return fmt.Errorf("no filesystem %s", uuid)
}

// Remount mounts the file systems in fstab whose disks exist, as at boot. If none is set, nothing is mounted, as when
// the kernel finds the disk too late.
func (s *Machine) Remount(none bool) error {
	return s.change("remount", func(st *state) error {
		for at := range st.Mounts {
			path := filepath.Join(s.root, at)
			if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
				if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
					return err
				}
			}
		}
		clear(st.Mounts)
		for _, f := range s.fstab() {
			if f[1] != "/" && !none {
				_ = s.mount(st, f[0], f[1])
			}
		}
		return nil
	})
}

// fstab returns the fields of the lines of /etc/fstab.
func (s *Machine) fstab() (lines [][]string) {
	table, _ := os.ReadFile(filepath.Join(s.root, "/etc/fstab"))
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) >= 4 && !strings.HasPrefix(f[0], "#") {
			lines = append(lines, f)
		}
	}
	return lines
}

func (s *Machine) bind(from, to string) error {
	target, err := filepath.Rel(filepath.Dir(to), from)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Symlink(target, to)
}

// rootSize is the size of every machine's root disk, in bytes.
const rootSize = 30 << 30

// mostCounted limits the files that Usage counts, because it is called every few seconds.
const mostCounted = 20_000

// Usage counts the bytes of the files on the root disk, or on the disk mounted at path.
func (s *Machine) Usage(path string) protocol.Usage {
	u := protocol.Usage{Total: rootSize}
	dir := path
	if path = s.guestPath(path); path != "/" {
		u = protocol.Usage{}
		_ = s.view(func(st *state) {
			for _, d := range st.Disks {
				if on, err := d.read(); err == nil && on.UUID != "" && on.UUID == st.Mounts[path] {
					u.Total = d.Size
				}
			}
		})
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		counted := 0
		_ = filepath.WalkDir(real, func(_ string, e fs.DirEntry, err error) error {
			if counted++; counted > mostCounted {
				return fs.SkipAll
			}
			if err != nil || !e.Type().IsRegular() {
				return nil // a file that was removed meanwhile does not count
			}
			if info, err := e.Info(); err == nil {
				u.Used += info.Size()
			}
			return nil
		})
	}
	if s.Full {
		u.Used = u.Total / 100 * 96
	}
	return u
}
