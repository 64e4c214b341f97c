package ops

import (
	"fmt"

	"hermes-box/guest/protocol"
	"hermes-box/ops/config"
	"hermes-box/ops/store"
)

// desired returns the machine that the config describes.
func (b *Box) desired() store.Machine {
	v, p := b.Config.VM, b.Config.Ports
	return store.Machine{CPUs: v.CPUs, Memory: v.Memory, RootDisk: v.RootDisk, DataDisk: v.DataDisk, Executor: p.Executor, Dashboard: p.Dashboard}
}

// actual returns the machine of the box, or the desired one before create. An existing box keeps the ports that it was
// created with, whatever the config says later.
func (b *Box) actual() store.Machine {
	if b.Record != nil && b.Record.Machine != (store.Machine{}) {
		return b.Record.Machine
	}
	return b.desired()
}

// Ports returns the loopback ports of the box.
func (b *Box) Ports() protocol.Ports {
	m := b.actual()
	return protocol.Ports{Executor: m.Executor, Dashboard: m.Dashboard}
}

// machineDrift compares the machine that the config describes with the actual one.
func (b *Box) machineDrift() (all []Drifted) {
	have, want := b.actual(), b.desired()
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
