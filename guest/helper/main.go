//go:build linux

// Command hermes-box-guest is the helper inside the guest: the verbs of package protocol over a real machine.
// It is static and carried by the host binary. Besides the host, systemd runs it, for recover at boot and for
// executor-prestart, and a person does, under the name tm.
package main

import (
	"os"
	"path/filepath"

	"hermes-box/guest"
	"hermes-box/guest/attach"
	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/serve"
)

func main() {
	if filepath.Base(os.Args[0]) == filepath.Base(layout.Tm) {
		os.Exit(attach.Main(os.Args[1:]))
	}
	helper := serve.Helper{Root: os.Geteuid() == 0, Open: func(string) *guest.Guest {
		os.Setenv("PATH", machine.SearchPath) // sudo, sshd and systemd each have their own idea
		return &guest.Guest{Tree: durable.Tree{Root: "/"}, Machine: machine.New()}
	}}
	os.Exit(helper.Main(os.Args[1:]))
}
