package ssh

import (
	"context"
	"errors"
	"time"
)

// Reconnect retires the shared connection and makes a new one. What PAM gives a login, such as /etc/environment, is read
// once a connection: a change of it reaches commands only over a new one. What runs over the old one, commands and Lima's
// own channel and forwards, goes on there.
//
// An sshd that takes up a new configuration refuses for a moment, and one on emulated CPUs that have much to do is slow:
// it is tried for as long as three minutes.
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
