package cli

import (
	"context"
	"os"
	"path/filepath"
	"regexp"

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
		Lima:      limactl.New(limactl.Config{Home: filepath.Join(d.Home, "lima"), Log: ops.CommandLog(d.Home), Accel: d.Acceleration}),
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
	_, err = b.Create(ctx, sink)
	end()
	if fault.CodeOf(err) == fault.Busy { // somebody else makes it: this one looks on
		return nil
	}
	return err
}

// ours are the commands of this program in a text for people.
var ours = regexp.MustCompile(`\bhermes-box (create|start|stop|destroy|ssh|exec|open|status|logs|doctor|setup|login|update|rollback|backup|restore|rebuild|key|lock|--help|[a-z]+ --help)\b`)

// typed is a text for people in which every command of ours is as it has to be typed here.
func (a *app) typed(text string) string {
	if !a.demo {
		return text
	}
	return ours.ReplaceAllString(text, "hermes-box --demo $1")
}
