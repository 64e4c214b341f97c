package cli

import (
	"context"
	"os"
	"path/filepath"

	"hermes-box/guest/protocol"
	"hermes-box/internal/rehearsal/demo"
	"hermes-box/limactl"
	"hermes-box/ops"
	"hermes-box/ops/fault"
)

// openDemo makes the demo or finds it, and this process works on it from then on.
func (a *app) openDemo() (*demo.Demo, error) {
	if a.rehearsal != nil {
		return a.rehearsal, nil
	}
	if a.configFlag != "" {
		return nil, fault.New(fault.InvalidInput, "--demo and --config exclude each other: a demo has a config of its own").Hint("leave --config out")
	}
	if dir := os.Getenv(demo.DirVariable); dir != "" {
		if err := absolute(demo.DirVariable, dir); err != nil {
			return nil, err
		}
	}
	dir, err := demo.Dir()
	if err != nil {
		return nil, err
	}
	d, err := demo.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := d.Inject(os.Getenv(demo.FaultsVariable)); err != nil {
		return nil, err
	}
	a.rehearsal = d
	return d, d.Use()
}

// demoHost is the machine of the demo. Nothing but where its home is makes it different from any other.
func (a *app) demoHost() (*ops.Host, error) {
	d, err := a.openDemo()
	if err != nil {
		return nil, err
	}
	return &ops.Host{
		Dir:       d.Home,
		Lima:      limactl.New(limactl.Config{Program: filepath.Join(d.Bin, "limactl"), Helper: protocol.HelperPath, Home: filepath.Join(d.Home, "lima"), Log: ops.CommandLog(d.Home), Accel: d.Acceleration}),
		Mirrors:   []string{d.Mirror},
		Helper:    demo.Helper,
		AfterStep: testOnlyAfterStep,
	}, nil
}

// firstDemo makes the box of a demo where there is none yet.
func (a *app) firstDemo(ctx context.Context) error {
	b, err := a.openBox()
	if err != nil || b.Record != nil {
		return err
	}
	a.note("demo: no VM is made, and nothing outside of " + a.rehearsal.Dir)
	sink, end := a.sink()
	_, err = b.Do(ctx, "create", false, sink)
	end()
	if fault.CodeOf(err) == fault.Busy { // somebody else makes it: this one looks on
		return nil
	}
	return err
}
