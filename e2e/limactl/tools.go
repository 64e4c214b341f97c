//go:build tools

// Package limactl pins the Lima that the lab builds: limactl and its guest agent, at exactly the version
// that Hermes Box is tested with. It is a module of its own so that none of Lima's dependencies reach the product.
package limactl

import (
	_ "github.com/lima-vm/lima/v2/cmd/lima-guestagent"
	_ "github.com/lima-vm/lima/v2/cmd/limactl"
)
