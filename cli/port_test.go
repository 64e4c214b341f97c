package cli

import "net"

func listen(port string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:"+port) }
