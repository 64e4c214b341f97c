package simulate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// conditions maps units to the ConditionPathExists= of their unit files.
var conditions = map[string]string{
	"hermes.service":           "/opt/hermes-box/current/hermes/bin/hermes",
	"hermes-dashboard.service": "/opt/hermes-box/current/hermes/bin/hermes",
	"executor.service":         "/opt/hermes-box/current/executor/executor.env",
}

// dashboardUnit is started and stopped with hermes.service.
const dashboardUnit = "hermes-dashboard.service"

// ReloadUnits is only recorded, in Did.
func (s *Machine) ReloadUnits(context.Context) error {
	return s.change("reload", func(*state) error { return nil })
}

// EnableUnit makes StartEnabled start a unit.
func (s *Machine) EnableUnit(_ context.Context, name string) error {
	return s.change("enable "+name, func(st *state) error {
		u := st.Units[name]
		u.Enabled = true
		st.Units[name] = u
		return nil
	})
}

// StartUnit starts a unit. If its condition is false, the unit stays inactive, which is not an error.
func (s *Machine) StartUnit(ctx context.Context, name string) error {
	if run := s.Oneshot[name]; run != nil {
		return s.oneshot(ctx, name, run)
	}
	return s.change("start "+name, func(st *state) error { return s.start(st, name, false) })
}

// oneshot runs a unit of Oneshot, unless it has succeeded since the last boot.
func (s *Machine) oneshot(ctx context.Context, name string, run func(context.Context) error) error {
	var done bool
	if err := s.view(func(st *state) { done = st.Units[name].Active == "active" }); err != nil || done {
		return err
	}
	failure := run(ctx) // not within change, since run may change this machine too
	err := s.change("start "+name, func(st *state) error {
		u := st.Units[name]
		u.Unit = machine.Unit{Active: "active", Sub: "exited", Result: "success", Since: s.now()}
		if failure != nil {
			u.Unit = machine.Unit{Active: "failed", Sub: "failed", Result: "exit-code"}
			s.note(name, "failed: %v", failure)
		} else {
			s.note(name, "finished")
		}
		st.Units[name] = u
		return nil
	})
	if err == nil && failure != nil {
		err = &machine.ExitError{Cmd: "systemctl start " + name, Status: 1, Output: failure.Error(), Err: failure}
	}
	return err
}

// RestartUnit stops and starts a unit.
func (s *Machine) RestartUnit(_ context.Context, name string) error {
	return s.change("restart "+name, func(st *state) error { return s.start(st, name, true) })
}

// StopUnit stops a unit.
func (s *Machine) StopUnit(_ context.Context, name string) error {
	return s.change("stop "+name, func(st *state) error { return s.stop(st, name) })
}

func (s *Machine) start(st *state, name string, again bool) error {
	u := st.Units[name]
	if u.Active == "active" && !again {
		return nil
	}
	u.Unit = machine.Unit{Active: "inactive"}
	if file, ok := conditions[name]; !ok || exists(filepath.Join(s.root, file)) {
		u.Unit = machine.Unit{Active: "active", Sub: "running", Result: "success", Since: s.now()}
	}
	if u.Active == "active" && s.Crashes != nil && s.Crashes(name) {
		u.Unit = machine.Unit{Active: "failed", Sub: "failed", Result: "exit-code"}
	}
	st.Units[name] = u
	s.note(name, "%s", map[string]string{"active": "started", "failed": "ended with status 1", "inactive": "not started: it is not installed"}[u.Active])
	if name != "hermes.service" {
		return nil
	}
	if err := s.start(st, dashboardUnit, again); err != nil || u.Active != "active" {
		return err
	}
	return s.gateway("running")
}

func (s *Machine) stop(st *state, name string) error {
	u := st.Units[name]
	running := u.Active == "active"
	u.Unit = machine.Unit{Active: "inactive"}
	st.Units[name] = u
	if running {
		s.note(name, "stopped")
	}
	if name != "hermes.service" {
		return nil
	}
	if err := s.stop(st, dashboardUnit); err != nil || !running {
		return err
	}
	return s.gateway("stopped")
}

// gateway writes the state file of Hermes's gateway.
func (s *Machine) gateway(how string) error {
	home := filepath.Join(s.root, protocol.DataDir, "home/agent/.hermes")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "gateway_state.json"), fmt.Appendf(nil, `{"gateway_state":%q}`, how), 0o600)
}

// Break sets the state of a unit. The next start of the unit resets it.
func (s *Machine) Break(name string, as machine.Unit) error {
	return s.change("break "+name, func(st *state) error {
		u := st.Units[name]
		u.Unit = as
		st.Units[name] = u
		return nil
	})
}

// Units returns the state of each unit.
func (s *Machine) Units(_ context.Context, names ...string) (map[string]machine.Unit, error) {
	if err := s.failRead("units"); err != nil {
		return nil, err
	}
	units := map[string]machine.Unit{}
	err := s.view(func(st *state) {
		for _, name := range names {
			u := st.Units[name].Unit
			if u.Active == "" {
				u.Active = "inactive"
			}
			units[name] = u
		}
	})
	return units, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
