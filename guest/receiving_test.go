package guest

import (
	"testing"

	"github.com/gofrs/flock"

	"hermes-box/guest/protocol"
)

// Whoever asks whether there is a receive does not look like one to the others who ask; a receive does.
func TestReceiving(t *testing.T) {
	g := &Guest{Root: t.TempDir()}
	put(t, g, protocol.StateDir+"/any", "")
	other := flock.New(g.Path(receiveMutex))
	for name, c := range map[string]struct {
		take func() error
		want bool
	}{
		"nobody":        {func() error { return nil }, false},
		"another asker": {other.RLock, false},
		"a receive":     {other.Lock, true},
	} {
		if err := c.take(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := g.receiving(); got != c.want || err != nil {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
		if err := other.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
}
