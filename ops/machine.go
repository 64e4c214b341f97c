package ops

import (
	"fmt"

	"hermes-box/guest/protocol"
	"hermes-box/ops/config"
	"hermes-box/ops/store"
)

// wanted is the machine that the config describes.
func (b *Box) wanted() store.Machine {
	v, p := b.Config.VM, b.Config.Ports
	return store.Machine{CPUs: v.CPUs, Memory: v.Memory, RootDisk: v.RootDisk, DataDisk: v.DataDisk, Executor: p.Executor, Dashboard: p.Dashboard}
}

// made is the machine the box has; before it is made, the one it will have. A config that was edited since changes
// nothing in a box that exists: its ports are those it was made with.
func (b *Box) made() store.Machine {
	if b.Record != nil && b.Record.Machine != (store.Machine{}) {
		return b.Record.Machine
	}
	return b.wanted()
}

// Ports are the loopback ports of the box.
func (b *Box) Ports() protocol.Ports {
	m := b.made()
	return protocol.Ports{Executor: m.Executor, Dashboard: m.Dashboard}
}

// machineDrift is where the config asks for another machine than the box has.
func (b *Box) machineDrift() (all []Drifted) {
	have, want := b.made(), b.wanted()
	differ := func(key, from, to string) {
		if from != to {
			all = append(all, Drifted{Name: key, From: from, To: to, Reason: b.Config.Path + " has changed since the box was made"})
		}
	}
	differ("cpus", fmt.Sprint(have.CPUs), fmt.Sprint(want.CPUs))
	differ("memory", config.FormatSize(have.Memory), config.FormatSize(want.Memory))
	differ("root_disk", config.FormatSize(have.RootDisk), config.FormatSize(want.RootDisk))
	differ("data_disk", config.FormatSize(have.DataDisk), config.FormatSize(want.DataDisk))
	differ("ports.executor", fmt.Sprint(have.Executor), fmt.Sprint(want.Executor))
	differ("ports.dashboard", fmt.Sprint(have.Dashboard), fmt.Sprint(want.Dashboard))
	return all
}
