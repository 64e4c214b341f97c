//go:build !linux

package limactl

// Acceleration is vz on macOS, which is there on every machine that is supported.
func Acceleration() Accel { return Accel{Name: "vz"} }
