package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// finishRoot is a script that mmdebstrap runs with the root directory of the new system as $1. It prepares the system
// for its first boot under Lima, and puts the kernel, the initrd and sources.list into its directory /lab, from where
// mmdebstrap copies them.
const finishRoot = `set -eu
root=$1
echo '/dev/vda / ext4 defaults 0 1' > "$root/etc/fstab"
for unit in %s; do ln -sf /dev/null "$root/etc/systemd/system/$unit"; done
chroot "$root" systemctl enable systemd-networkd systemd-resolved
# Nothing is looked for, or made, that the first boot can do without: on emulated CPUs each takes seconds.
printf '%%s\n' 'datasource_list: [NoCloud]' 'ssh_genkeytypes: [ed25519]' > "$root/etc/cloud/cloud.cfg.d/90-lab.cfg"
touch --reference "$root/usr" "$root/etc/.updated" "$root/var/.updated"
mkdir "$root/lab"
cp "$root"/boot/vmlinuz-* "$root/lab/vmlinuz"
cp "$root"/boot/initrd.img-* "$root/lab/initrd.img"
cat "$root"/etc/apt/sources.list > "$root/lab/sources.list"
`

// makeDisk turns the system into a disk image of 3 GiB. At the first boot Lima enlarges the disk, and cloud-init the
// filesystem.
const makeDisk = `set -eu
mkdir root
tar --extract --file root.tar --directory root --numeric-owner --xattrs --xattrs-include='*' --exclude='./dev/*' --exclude='./lab'
truncate --size 3G root.raw
mke2fs -q -t ext4 -L rootfs -d root root.raw
`

// imageStep builds the guest image: disk.qcow2, the kernel and initrd that boot it, and the sources.list of its
// packages.
func imageStep() step {
	return step{
		name:    "image",
		product: "image",
		recipe: append([]string{guestSuite, finishRoot, makeDisk, strings.Join(guestMasked, " "), "1"},
			guestPackages...),
		after: []string{"host tools"},
		make:  (*build).image,
	}
}

func (b *build) image(ctx context.Context) error {
	sources, err := b.guestSources(ctx)
	if err != nil {
		return err
	}
	finish := filepath.Join(b.tmp, "finish")
	if err := os.WriteFile(finish, fmt.Appendf(nil, finishRoot, strings.Join(guestMasked, " ")), 0o755); err != nil {
		return err
	}
	argv := []string{"mmdebstrap", "--variant=minbase", "--include=" + strings.Join(guestPackages, ","),
		// A crash discards the tree, so dpkg need not sync each file.
		"--dpkgopt=force-unsafe-io", "--customize-hook=" + `rm -f "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap"`,
		"--customize-hook=" + finish,
		"--customize-hook=copy-out /lab/vmlinuz /lab/initrd.img /lab/sources.list " + b.dir,
		guestSuite, filepath.Join(b.tmp, "root.tar")}
	if err := b.exec(ctx, cmd{argv: append(argv, sources...), dir: b.tmp}); err != nil {
		return err
	}
	argv = []string{"sh", "-c", makeDisk}
	if os.Geteuid() != 0 {
		argv = append([]string{"fakeroot"}, argv...)
	}
	if err := b.exec(ctx, cmd{argv: argv, dir: b.tmp}); err != nil {
		return err
	}
	return b.exec(ctx, cmd{argv: []string{"qemu-img", "convert", "-c", "-W", "-O", "qcow2", "root.raw", filepath.Join(b.dir, "disk.qcow2")}, dir: b.tmp})
}
