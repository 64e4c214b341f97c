package login

import (
	"context"
	"os"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

// TakeUpHermes restarts Hermes if its setup was changed after it started. Hermes reads most of its setup at each turn,
// but reads the list of chats that it answers in only when it starts. TakeUpHermes does not start a Hermes that is
// stopped.
func (l Login) TakeUpHermes(ctx context.Context) (protocol.TakenUp, error) {
	var done protocol.TakenUp
	unlock, err := l.Lock(ctx, layout.Mutex)
	if err != nil {
		return done, err
	}
	defer unlock()
	unit, err := component.UnitOf(ctx, l.components(), component.Hermes{})
	if err != nil || unit.Active != "active" {
		return done, err
	}
	for _, name := range []string{".env", "config.yaml", "auth.json"} {
		info, err := os.Stat(l.Path(layout.HermesHome, name))
		done.Restarted = done.Restarted || err == nil && !info.ModTime().Before(unit.Since)
	}
	if !done.Restarted {
		return done, nil
	}
	if err := l.restartHermes(ctx); err != nil {
		return done, component.Failure(err, "hermes", "restart")
	}
	return done, nil
}
