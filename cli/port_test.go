package cli

import (
	"net"
	"testing"
)

func listen(port string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:"+port) }

// freePorts are two ports that nothing holds.
func freePorts(t testing.TB) (executor, dashboard int) {
	t.Helper()
	var ports [2]int
	for i := range ports {
		l, err := listen("0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports[0], ports[1]
}
