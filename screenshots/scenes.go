package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"hermes-box/internal/ttytest"
	"hermes-box/ops/lock"
)

// play creates a box, uses it, and takes a picture of each view.
func (s *studio) play() {
	d := s.open(80, 24, "HERMES_BOX_DEMO_FAULTS=health-fails", "HERMES_BOX_DEMO_PACE=0.2")
	d.Shows("create the box")
	d.Type("\r")
	d.Shows("create failed")
	s.shoot("failed-create", d, dark)
	d.Type("\x03")
	d.Ends(patience)

	path := filepath.Join(s.dir, lock.FileName)
	if err := os.Rename(path, path+".away"); err != nil {
		s.Fatal(err)
	}
	d = s.open(80, 24)
	d.Shows("unknown")
	s.shoot("first-start", d, dark)
	d.Type("\x03")
	d.Ends(patience)
	if err := os.Rename(path+".away", path); err != nil {
		s.Fatal(err)
	}

	d = s.open(80, 24, "HERMES_BOX_DEMO_PACE=1")
	d.Shows("create the box")
	d.Type("\r")
	d.Shows("▸ install")
	s.shoot("creating", d, dark)
	d.Resize(120, 40)
	d.Shows("✓ upload the software")
	s.shoot("creating-120x40", d, dark)
	d.Resize(80, 24)
	d.Shows("is ready")
	s.shoot("created", d, dark)
	rest()
	d.Type("\r")
	d.Shows("enter details")
	d.Shows("✓ healthy")
	d.Type("?")
	d.Shows("type to search")
	s.shoot("help", d, dark)
	leave(d, "type to search")
	d.Type(":")
	d.Shows("┌ command")
	d.Type("st")
	s.shoot("palette", d, dark)
	leave(d, "┌ command")
	d.Type("l")
	d.Shows("log of hermes")
	d.Type("\t\t\t")
	d.Shows("log of operations")
	d.Shows("record the box")
	s.shoot("logs", d, dark)
	d.Type("\x1b")
	d.Shows("enter details")
	d.Type("jjj\r")
	d.Hides("enter details")
	s.shoot("details", d, dark)
	d.Type("\x1b")
	d.Shows("enter details")
	d.Type("w")
	d.Shows("0 of 6 done")
	s.shoot("sign-in", d, dark)
	d.Type("\r")
	d.Shows("Run it here")
	s.shoot("sign-in-step", d, dark)
	leave(d, "Run it here")
	d.Shows("0 of 6 done")
	d.Type("\x1b")
	d.Shows("enter details")
	s.must("exec", "--", "sh", "-c", "mkdir -p api && head -c 24M /dev/urandom >api/data.db && seq 200000 >api/log.txt")
	s.must("backup")
	s.must("exec", "--", "sh", "-c", "seq 300000 >api/log.txt")
	s.must("backup", "before-update")
	d.Type("b")
	d.Shows("has a verified backup")
	s.shoot("backup", d, dark)
	rest()
	d.Type("\r")
	d.Shows("enter details")
	d.Type("B")
	d.Shows("before-update", "✓ verified")
	s.shoot("backups", d, dark)
	d.Type("\x1b")
	d.Shows("enter details")
	d.Type("X")
	d.Shows("Destroy")
	d.Type("dem")
	s.shoot("destroy", d, dark)
	leave(d, "Destroy")
	d.Type("q")
	d.Ends(patience)

	d = s.open(80, 24, "HERMES_BOX_DEMO_FAULTS=clock-skew")
	d.Shows("clock")
	d.Type("d")
	d.Shows("failed")
	d.Shows("▸ ✗ fail")
	s.shoot("doctor", d, dark)
	d.Type("q")
	d.Ends(patience)

	s.relock("codex")
	for _, variant := range []struct {
		name, theme string
		terminal
	}{{"-light", "light", light}, {"-dark", "dark", dark}, {"-ansi-light", "ansi", light}, {"", "ansi", dark}} {
		d = s.open(80, 24, "HERMES_BOX_THEME="+variant.theme)
		d.Shows("clock in step")
		d.Type("jjj")
		d.Shows("▸ codex")
		s.shoot("dashboard"+variant.name, d, variant.terminal)
		d.Resize(120, 40)
		d.Until("a wide frame", func(screen string) bool { return strings.Contains(screen, strings.Repeat("─", 100)) })
		s.shoot("dashboard-120x40"+variant.name, d, variant.terminal)
		d.Resize(80, 24)
		d.Type("v")
		d.Shows("rebuild")
		s.shoot("drift"+variant.name, d, variant.terminal)
		d.Type("q")
		d.Ends(patience)
	}

	s.must("stop")
	d = s.open(80, 24)
	d.Shows("○ stopped")
	s.shoot("stopped", d, dark)
	d.Type("q")
	d.Ends(patience)
}

// relock replaces components of the lock by those of demo-2.lock.
func (s *studio) relock(names ...string) {
	path := filepath.Join(s.dir, lock.FileName)
	have, err := lock.Load(path)
	newer, err2 := lock.Load(filepath.Join(s.dir, "demo-2.lock"))
	if err := errors.Join(err, err2); err != nil {
		s.Fatal(err)
	}
	for _, name := range names {
		have.Components[name] = newer.Components[name]
	}
	if err := os.WriteFile(path, have.Canonical(), 0o644); err != nil {
		s.Fatal(err)
	}
}

// leave presses escape and waits until a text is gone. Without the wait, the program could read escape and the next key
// as one key.
func leave(d *ttytest.Terminal, text string) {
	d.Type("\x1b")
	d.Hides(text)
}
