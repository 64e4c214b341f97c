package ops

import (
	"context"

	"hermes-box/limactl"
)

// table is the one table of operations. It is made by a function because operations look things up in it.
func table() []Operation {
	return []Operation{
		{
			Name:   "create",
			Effect: "make the box: data disk, VM and all software, proven healthy",
			Long: `Make the box that hermes-box.yaml and hermes-box.lock describe.

Nothing is made before this machine has been checked. If anything fails, or at ctrl-c, exactly what was
made is removed again; artifacts that came in whole stay in the cache, so that the next try is faster.`,
			Words:  "make new install begin setup init up",
			Needs:  NeedsNoBox,
			Cancel: "Exactly what it has made so far is removed again. What was downloaded whole stays in the cache.",
			Done:   "is ready",
			Next:   []Advice{{"sign in", "login"}, {"work in it", "ssh"}},
			during: limactl.Starting,
			resume: "create", repair: "hermes-box create makes it anew; hermes-box destroy --force removes what is left of it",
			recover: (*Box).undoCreate,
			ended:   func(b *Box) bool { return b.Record != nil && b.Record.Ready },
			run:     func(ctx context.Context, b *Box, _ bool, sink Sink) (any, error) { return b.create(ctx, sink) },
		}, {
			Name:   "start",
			Effect: "boot the box and start what is applied to it; installs nothing",
			Long:   "Boot the box and start what is applied to it. Nothing is ever installed by start; drift is reported.",
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
			Ask:    "What runs in it ends; everything on its disks stays.",
			Cancel: "Services that were stopped are started again.",
			Done:   "is stopped",
			Next:   []Advice{{"start it", "start"}},
			Force: &Force{
				Help:   "do not ask the guest: for a box that no longer answers",
				Effect: "cut the VM off without asking it: for a box that no longer answers",
				Words:  "kill hang hung broken",
				Ask:    "Unsaved data may be lost: the box is not asked to write it. For a box that no longer answers.",
				Cancel: "There is nothing to undo.",
			},
			during: stopping,
			resume: "stop", repair: "hermes-box stop",
			run: func(ctx context.Context, b *Box, force bool, sink Sink) (any, error) { return b.stop(ctx, force, sink) },
		}, {
			Name:   "restart",
			Effect: "stop the box and start it again; installs nothing",
			Long: `Stop the services, sync the data disk, stop the VM, then boot it and start what is applied to it: one
operation. Nothing is installed. A box that is stopped is started.`,
			Words:  "reboot reload again reset cycle",
			Needs:  NeedsRunning,
			Ask:    "What runs in it ends; everything on its disks stays. Then it is started again.",
			Cancel: "Services that were stopped are started again while the VM is up; a VM that is still booting is stopped. Nothing in the box is lost.",
			Done:   "is running",
			Next:   []Advice{{"work in it", "ssh"}},
			during: limactl.Starting,
			resume: "start", repair: "hermes-box start",
			run: func(ctx context.Context, b *Box, _ bool, sink Sink) (any, error) { return b.restart(ctx, sink) },
		}, {
			Name:   "destroy",
			Effect: "remove the box: its VM and its data disk",
			Long: `Remove the box: its VM, its data disk with everything in it, and the host's record of it. Only these, by
their exact names, are touched. Without --force a fresh verified backup must exist.`,
			Words:       "delete remove rm erase wipe purge uninstall",
			Needs:       NeedsBox,
			Destructive: true,
			Ask: "Lost: the VM and the data disk with everything on it: work, logins, the agents' memory.\n" +
				"Kept: the config, the lock, downloaded software, logs.\nThere is no verified backup of it.",
			Cancel: "What is removed already stays removed; destroying it again finishes it.",
			Done:   "is gone; what was downloaded is kept",
			Force:  &Force{Help: "destroy without a verified backup: everything in the box is lost"},
			during: stopping,
			resume: "destroy", repair: "hermes-box destroy --force ends it",
			recover: (*Box).resumeDestroy,
			ended:   func(b *Box) bool { return b.Record == nil },
			run: func(ctx context.Context, b *Box, force bool, sink Sink) (any, error) {
				return b.destroy(ctx, force, sink)
			},
		}, {
			Name: "setup", Effect: "give Hermes the token of Executor", Needs: NeedsRunning,
			Cancel: "Hermes stays as it was.", Done: "is set up",
			resume: "setup", repair: "hermes-box setup executor",
		}, {
			Name: "login", Effect: "have Hermes take up what was set up", Needs: NeedsRunning,
			Cancel: "Hermes takes it up when it starts the next time.", Done: "is signed in",
			resume: "login", repair: "hermes-box login",
		},
	}
}

// stopping is the state of a box while an operation stops or removes it.
const stopping limactl.State = "stopping"
