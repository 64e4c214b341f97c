package cli

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

func listen(port string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:"+port) }

// freePorts are two ports that nothing holds, and below those that the system gives to connections on the way out.
func freePorts(t testing.TB) (executor, dashboard int) {
	t.Helper()
	var ports []int
	for len(ports) < 2 {
		port := 20000 + rand.IntN(10000)
		l, err := listen(fmt.Sprint(port))
		if err != nil {
			continue
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports[0], ports[1]
}
