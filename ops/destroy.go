package ops

import (
	"context"
	"errors"

	"hermes-box/limactl"
	"hermes-box/ops/artifact"
	"hermes-box/ops/fault"
)

// Destroyed is the result of destroy: what was removed.
type Destroyed struct {
	Already    bool   `json:"already,omitempty"` // there was no box
	Instance   string `json:"instance,omitempty"`
	Disk       string `json:"disk,omitempty"`
	Unfinished bool   `json:"unfinished,omitempty"` // it was what an interrupted create had left
	// Cache is the artifact cache, which is kept for the next create, and CacheBytes its size.
	Cache      string `json:"cache,omitempty"`
	CacheBytes int64  `json:"cache_bytes,omitempty"`
}

// destroy removes the box: its VM and its data disk, by their exact names, and the host's record. Without force it
// requires a fresh verified backup, and this version makes none. Cached artifacts and logs stay.
func (b *Box) destroy(ctx context.Context, force bool, sink Sink) (*Destroyed, error) {
	if b.Record == nil && b.noJournal() {
		return &Destroyed{Already: true}, nil
	}
	if !force {
		return nil, fault.New(fault.PreflightFailed, "box %q has no verified backup; destroying it loses everything in it", b.Name()).
			Hint("hermes-box destroy --force removes box %q and all its data", b.Name())
	}
	result := &Destroyed{}
	err := b.change(ctx, "destroy", force, sink, func(ctx context.Context) (Plan, error) {
		if b.Record == nil { // recovery has undone a create, or an earlier destroy had only its journal left
			if b.leftovers != nil {
				*result = *b.leftovers
			}
			return Plan{}, b.Home.RemoveJournal(b.Name())
		}
		result.Instance, result.Disk = b.Record.Instance, b.Record.Disk
		return b.destroyPlan(), nil
	})
	if err != nil {
		return nil, err
	}
	result.Cache, result.CacheBytes = b.Home.Artifacts(), artifact.Size(b.Home.Artifacts())
	return result, nil
}

func (b *Box) destroyPlan() Plan {
	rec := b.Record
	removed, stopped := true, false // false, true: the step failed after it had only stopped the VM
	return Plan{Steps: []Step{
		{ID: "vm", Title: "remove the VM", Do: func(ctx context.Context, _ *Progress) error {
			was := b.Lima.Peek(rec.Instance)
			// On a full disk no journal can be written, and destroy must still work: it can be run again without one.
			_ = b.journal.begin(madeDisk, madeVM)
			err := b.deleteVM(ctx, rec.Instance)
			if err != nil && b.keepWhole(ctx) == nil {
				removed, stopped = false, was != limactl.Stopped && b.Lima.Peek(rec.Instance) == limactl.Stopped
			}
			return err
		}, Stays: func() string {
			if stopped {
				return "the VM is stopped, but nothing is removed; hermes-box start starts it"
			}
			return ""
		}, Changed: func() bool { return removed }, Undo: b.keepWhole},
		{ID: "disk", Title: "remove the data disk", Do: func(ctx context.Context, _ *Progress) error { return b.deleteDisk(ctx, rec.Disk) }},
		{ID: "forget", Title: "forget the box", Do: func(context.Context, *Progress) error { return b.forget() }},
	}}
}

// keepWhole undoes a destroy that has removed nothing. One that has removed something cannot be undone.
func (b *Box) keepWhole(context.Context) error {
	whole, err := b.whole()
	if err != nil {
		return err
	}
	if !whole {
		return fault.New(fault.PreflightFailed, "box %q is no longer whole", b.Name()).Hint("hermes-box destroy --force ends it")
	}
	return b.Home.RemoveJournal(b.Name())
}

func (b *Box) forget() error {
	b.Record = nil
	return errors.Join(b.Home.RemoveRecord(b.Name()), b.Home.RemoveJournal(b.Name()))
}

func (b *Box) noJournal() bool {
	j, err := b.Home.Journal(b.Name())
	return err == nil && j == nil
}
