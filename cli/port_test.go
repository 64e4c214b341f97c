package cli

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

func listen(port string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:"+port) }

var nextPort atomic.Int64

func init() { nextPort.Store(20000 + rand.Int64N(8000)) }

// freePorts returns two free ports below the range of ephemeral ports. It never returns the same port twice, because a
// box binds its ports only when its VM is up.
func freePorts(t testing.TB) (executor, dashboard int) {
	t.Helper()
	var ports []int
	for len(ports) < 2 {
		port := int(nextPort.Add(1))
		l, err := listen(fmt.Sprint(port))
		if err != nil {
			continue
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports[0], ports[1]
}
