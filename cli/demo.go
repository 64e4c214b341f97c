package cli

import (
	"os"
	"path/filepath"

	"hermes-box/guest/protocol"
	"hermes-box/internal/rehearsal/demo"
	"hermes-box/limactl"
	"hermes-box/ops"
	"hermes-box/ops/fault"
	"hermes-box/ops/keys"
)

// openDemo opens the demo, makes its directory if needed, and makes this process use it.
func (a *app) openDemo() (*demo.Demo, error) {
	if a.rehearsal != nil {
		return a.rehearsal, nil
	}
	if a.configFlag != "" {
		return nil, fault.New(fault.InvalidInput, "--demo and --config exclude each other, since the demo has a config of its own").Hint("leave out --config")
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

// demoHost returns the host of the demo. It differs from a real host only in settings, such as the directory and limactl.
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
		KeyStore:  keys.File, // a demo changes nothing outside its directory
		NoTimer:   "the demo changes nothing outside its directory",

		PassphraseWork: testOnlyPassphraseWork,
	}, nil
}
