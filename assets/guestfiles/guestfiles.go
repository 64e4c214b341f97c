// Package guestfiles holds the files that the helper installs in a guest: units, settings, tmux and terminfo. The
// directory root has the layout of the guest's root.
package guestfiles

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed all:root
var root embed.FS

// TerminfoSource is the guest path of the terminfo source for Ghostty, which tic compiles.
const TerminfoSource = "/usr/local/share/hermes-box/xterm-ghostty.ti"

// SSHD is the guest path of the sshd settings. Check them with `sshd -t` before sshd reads them.
const SSHD = "/etc/ssh/sshd_config.d/00-hermes-box.conf"

// Enabled lists the units that the bootstrap enables, so that they start at boot. The unit of the dashboard is not one
// of them: hermes.service starts it.
var Enabled = []string{"hermes-box-helper.service", "hermes-box-recovery.service", "executor.service", "hermes.service", "swapfile.swap"}

// File is one file for a guest.
type File struct {
	Path string // absolute, in the guest
	Mode fs.FileMode
	Data []byte
}

// All returns the files, sorted by path.
func All() []File {
	var all []File
	err := fs.WalkDir(root, "root", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := root.ReadFile(name)
		all = append(all, File{Path: strings.TrimPrefix(name, "root"), Mode: 0o644, Data: data})
		return err
	})
	if err != nil {
		panic(err) // the tree is compiled in
	}
	return all
}
