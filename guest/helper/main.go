//go:build linux

// Command hermes-box-guest is the helper inside the guest: the verbs of package protocol over a real machine.
// It is static, carried by the host binary, and does nothing that the host did not ask for but the two things
// systemd runs it for: recover at boot, and executor-prestart.
package main

import (
	"os"

	"hermes-box/guest"
	"hermes-box/guest/durable"
	"hermes-box/guest/machine"
	"hermes-box/guest/serve"
)

func main() {
	helper := serve.Helper{Root: os.Geteuid() == 0, Open: func() *guest.Guest {
		os.Setenv("PATH", machine.SearchPath) // sudo, sshd and systemd each have their own idea
		return &guest.Guest{Tree: durable.Tree{Root: "/"}, Machine: machine.New()}
	}}
	os.Exit(helper.Main(os.Args[1:]))
}
