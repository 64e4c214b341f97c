//go:build !linux

package rehearsal

import "fmt"

func mountSmall(string) error { return fmt.Errorf("the fault %s needs Linux", SmallDisk) }

func unmountSmall(string) {}
