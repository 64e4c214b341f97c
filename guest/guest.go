// Package guest is the transaction engine that runs inside the VM. It installs, proves, activates and rolls
// back releases, makes a fresh root into a box, and tells what runs. It knows nothing of the host beyond
// package protocol.
//
// Every effect outside the files below Guest.Root goes through System, so that the whole engine runs in tests,
// and on the rehearsal machine, against a plain directory.
package guest

import (
	"path/filepath"
	"time"

	"hermes-box/guest/protocol"
)

// Guest is one machine: where its files are and how it is acted upon.
type Guest struct {
	Root   string               // "/", or a directory that stands for it
	System System               // everything that is not a file
	Emit   func(protocol.Event) // may be nil; called from several goroutines
	Now    func() time.Time     // nil: time.Now
	Helper string               // file of the helper that speaks for this guest; empty: the running executable

	// After is called after each durable step of the engine (a file renamed into place, a link swapped, a
	// unit restarted) with its name; nil in production. A crash test ends the run there, by not returning.
	After func(step string)
}

// Path is where an absolute path of the guest is found.
func (g *Guest) Path(elem ...string) string {
	return filepath.Join(append([]string{g.Root}, elem...)...)
}

func (g *Guest) emit(e protocol.Event) {
	if g.Emit != nil {
		g.Emit(e)
	}
}

func (g *Guest) did(step string) {
	if g.After != nil {
		g.After(step)
	}
}

func (g *Guest) now() time.Time {
	if g.Now != nil {
		return g.Now().UTC()
	}
	return time.Now().UTC()
}
