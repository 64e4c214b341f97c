//go:build !linux

package limactl

// Acceleration returns vz, which every supported Mac has.
func Acceleration() Accel { return Accel{Name: "vz"} }
