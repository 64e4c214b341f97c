package ssh

import (
	"context"
	"errors"
	"time"
)

// Reconnect replaces the shared connection with a new one. PAM reads the environment of a login, such as
// /etc/environment, once per connection, so commands see a change of it only over a new connection. Commands on the old
// connection, and Lima's own session and forwards, continue on it.
//
// Reconnect tries for three minutes: sshd refuses connections for a moment while it reloads its configuration, and is
// slow on busy emulated CPUs.
func (c *Client) Reconnect(ctx context.Context, instance string) error {
	c.dropMaster(ctx, instance)
	patient := *c
	patient.Connect = 3 * c.connectLimit()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		err := patient.Exec(ctx, instance, Exec{Args: []string{"true"}})
		var refused *TransportError
		if !errors.As(err, &refused) || refused.Started {
			return err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}
