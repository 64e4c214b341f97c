//go:build linux

// Command hermes-box-guest is the helper inside the guest: it runs the verbs of package protocol on a real machine. It
// is a static binary inside the host's binary. The host runs it over ssh. Units of systemd run it with serve,
// map-data, recover or executor-prestart. A person runs it under the name tm.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"hermes-box/guest"
	"hermes-box/guest/attach"
	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
	"hermes-box/guest/serve"
)

func main() {
	if filepath.Base(os.Args[0]) == filepath.Base(layout.Tm) {
		os.Exit(attach.Main(os.Args[1:]))
	}
	if isGuard, err := machine.Guard(os.Args[1:], os.Stdin, os.Stdout); isGuard {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m := machine.New()
	helper := serve.Helper{Replaced: replaced, Root: os.Geteuid() == 0, Open: func(verb string) *guest.Guest {
		if verb == protocol.Serve {
			m.Watch()
		}
		os.Setenv("PATH", machine.SearchPath) // sudo, sshd and systemd each set another PATH
		return &guest.Guest{Tree: durable.Tree{Root: "/"}, Machine: m}
	}}
	os.Exit(helper.Main(os.Args[1:]))
}

// replaced reports whether the helper's file has been replaced since this process was started.
func replaced() bool {
	ours, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	theirs, err := os.Stat(protocol.HelperPath)
	return err != nil || !os.SameFile(ours, theirs)
}
