//go:build linux

// Command hermes-box-guest is the helper inside the guest. It answers the verbs of package protocol. It is static and carried
// by the host binary. systemd runs it too: recover at boot, and executor-prestart before executor.service starts.
package main

import (
	"os"

	"hermes-box/guest"
	"hermes-box/guest/durable"
	"hermes-box/guest/machine"
	"hermes-box/guest/serve"
)

func main() {
	os.Setenv("PATH", machine.SearchPath) // sudo, sshd and systemd each set another one
	os.Exit(serve.Main(os.Args[1:], &guest.Guest{Tree: durable.Tree{Root: "/"}, Machine: machine.New()}, os.Geteuid() == 0))
}
