package ops

import (
	"context"

	"hermes-box/limactl"
)

// table returns the one table of operations. It is a function because operations in the table use the table.
func table() []Operation {
	return []Operation{
		{
			Name:   "create",
			Effect: "make the box: data disk, VM and all software, checked to be healthy",
			Long: `Make the box that hermes-box.yaml and hermes-box.lock describe.

Nothing is made before this machine has been checked. If anything fails, or at ctrl-c, exactly what was
made is removed again; downloads that completed stay in the cache, so that the next try is faster.`,
			Words:  "make new install begin setup init up",
			Needs:  NeedsNoBox,
			Cancel: "Exactly what it has made so far is removed again. Downloads that completed stay in the cache.",
			Done:   "is ready",
			Next:   []Advice{{"sign in", "login"}, {"work in it", "ssh"}},
			during: limactl.Starting,
			resume: "create", repair: "to make it anew: hermes-box create; to remove what is left: hermes-box destroy --force",
			recover: (*Box).undoCreate,
			ended:   func(b *Box) bool { return b.Record != nil && b.Record.Ready },
			run:     func(ctx context.Context, b *Box, _ bool, sink Sink) (any, error) { return b.create(ctx, sink) },
		}, {
			Name:   "start",
			Effect: "boot the box and start its services; installs nothing",
			Long:   "Boot the box and start its services. start never installs anything; it reports drift.",
			Words:  "boot resume up power on launch",
			Needs:  NeedsStopped,
			Cancel: "A VM that is still booting is stopped again. Nothing in the box is lost.",
			Done:   "is running",
			Next:   []Advice{{"work in it", "ssh"}},
			during: limactl.Starting,
			resume: "start", repair: "hermes-box start",
			run: func(ctx context.Context, b *Box, _ bool, sink Sink) (any, error) { return b.start(ctx, sink) },
		}, {
			Name:   "stop",
			Effect: "stop the services, sync the data disk, stop the VM",
			Words:  "halt shutdown power off poweroff down suspend",
			Needs:  NeedsRunning,
			Ask:    "Running programs end; everything on its disks stays.",
			Cancel: "Services that were stopped are started again.",
			Done:   "is stopped",
			Next:   []Advice{{"start it", "start"}},
			Force: &Force{
				Help:   "power the VM off at once: for a box that no longer answers",
				Effect: "power the VM off at once: for a box that no longer answers",
				Words:  "kill hang hung broken",
				Ask:    "Unsaved data may be lost: the box gets no time to write it. For a box that no longer answers.",
				Cancel: "There is nothing to undo.",
			},
			during: stopping,
			resume: "stop", repair: "hermes-box stop",
			run: func(ctx context.Context, b *Box, force bool, sink Sink) (any, error) { return b.stop(ctx, force, sink) },
		}, {
			Name:   "restart",
			Effect: "stop the box and start it again; installs nothing",
			Long: `Stop the services, sync the data disk, stop the VM, then boot it and start its services, as one
operation. Nothing is installed. A box that is stopped is started.`,
			Words:  "reboot reload again reset cycle",
			Needs:  NeedsRunning,
			Ask:    "Running programs end; everything on its disks stays. Then the box is started again.",
			Cancel: "Services that were stopped are started again while the VM is up; a VM that is still booting is stopped. Nothing in the box is lost.",
			Done:   "is running",
			Next:   []Advice{{"work in it", "ssh"}},
			during: limactl.Starting,
			resume: "start", repair: "hermes-box start",
			run: func(ctx context.Context, b *Box, _ bool, sink Sink) (any, error) { return b.restart(ctx, sink) },
		}, {
			Name:   "backup",
			Effect: "make a verified backup of the data disk",
			Words:  "save copy snapshot archive protect",
			Needs:  NeedsRunning,
			Cancel: "No new backup is listed, and the box is as it was. What was copied already is removed by the next backup.",
			Done:   "has a verified backup",
			resume: "backup", repair: "hermes-box backup",
			run: func(ctx context.Context, b *Box, _ bool, sink Sink) (any, error) {
				return b.Backup(ctx, "", false, sink)
			},
		}, {
			Name:   "restore",
			Effect: "make the box anew from a backup",
			Long: `Make the box anew from a backup: a new VM and a new data disk with the files of the backup, and the software of the
lock that was applied when the backup was made. The box must not exist.

The whole backup is read and checked, and all software is fetched, before anything is made. If anything fails, or at
ctrl-c, exactly what was made is removed again; the backup stays as it is.`,
			Words:  "recover bring back undo disaster import unpack",
			Needs:  NeedsNoBox,
			Cancel: "Exactly what it has made so far is removed again. The backup stays as it is.",
			Done:   "is restored",
			Next:   []Advice{{"work in it", "ssh"}, {"make a backup of it", "backup"}},
			during: limactl.Starting,
			resume: "restore", repair: "to make it anew: hermes-box restore BACKUP; to remove what is left: hermes-box destroy --force",
			recover: (*Box).undoCreate,
			ended:   func(b *Box) bool { return b.Record != nil && b.Record.Ready },
		}, {
			Name:   "destroy",
			Effect: "remove the box: its VM and its data disk",
			Long: `Remove the box: its VM, its data disk with everything in it, and the host's record of it. Only these, by
their exact names, are touched. A running box is backed up first, and stays if that fails: after the backup
its data disk is frozen, what has changed meanwhile is copied too, and then the VM is killed. A box that does not run needs
a verified backup. Backups stay, with the key that opens them: restore makes the box anew from them.`,
			Words:       "delete remove rm erase wipe purge uninstall",
			Needs:       NeedsBox,
			Destructive: true,
			Ask: "Lost: the VM and the data disk with everything on it: work, logins, the agents' memory.\n" +
				"Kept: backups and their key, the config, the lock, downloaded software, logs.\n" +
				"A running box is backed up first; a stopped one needs a backup.",
			Cancel: "What is removed already stays removed; destroying it again finishes it.",
			Done:   "is gone; its backups and what was downloaded are kept",
			Force: &Force{
				Help:   "destroy without a backup: everything in the box that no backup has is lost",
				Effect: "remove the box without a backup of it",
				Words:  "delete remove wipe broken hung",
				Ask: "Lost: the VM and the data disk with everything on it that no backup has.\n" +
					"Kept: backups and their key, the config, the lock, downloaded software, logs.\nNo backup is made first.",
				Cancel: "What is removed already stays removed; destroying it again finishes it.",
			},
			during: stopping,
			resume: "destroy", repairOf: (*Box).finishDestroy,
			recover: (*Box).resumeDestroy,
			ended:   func(b *Box) bool { return b.Record == nil },
			run: func(ctx context.Context, b *Box, force bool, sink Sink) (any, error) {
				return b.Destroy(ctx, Destroying{Force: force, Confirmed: true}, sink)
			},
		}, {
			Name: "drill", Effect: "restore a backup as a trial, compare the copy, and remove it", Needs: NeedsBox,
			Cancel: "What it has restored is removed. The backup and the box stay as they are.", Done: "has a backup that can be restored",
			resume: "drill", repair: "hermes-box backup drill",
			recover: (*Box).undoDrill, ended: (*Box).drillEnded,
		}, {
			Name: "setup", Effect: "give Hermes the token of Executor", Needs: NeedsRunning,
			Cancel: "Hermes stays as it was.", Done: "is set up",
			resume: "setup", repair: "hermes-box setup executor",
		}, {
			Name: "login", Effect: "make Hermes read its new setup", Needs: NeedsRunning,
			Cancel: "Hermes reads it at its next start.", Done: "is signed in",
			resume: "login", repair: "hermes-box login",
		}, {
			Name: "key", Effect: "change who can open the backups", Needs: NeedsBox,
			Cancel: "What was changed already stays; run it again to finish it.", Done: "has its key changed",
			resume: "key", repair: "hermes-box key status",
		},
	}
}

// stopping is the state of a box while an operation stops or removes it.
const stopping limactl.State = "stopping"
