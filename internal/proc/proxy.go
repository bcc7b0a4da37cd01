package proc

import (
	"os"

	"github.com/settle-agent/settle/internal/sandbox"
)

// Proxy is the egress proxy of a sandboxed command with the network [sandbox.Proxied].
type Proxy interface {
	// Listen opens the proxy at a loopback port, and ServeFile at a listening socket, which it
	// closes.
	Listen() (port uint16, err error)
	ServeFile(listener *os.File)
	// URL is the address of the proxy at a port, for the environment of the command.
	URL(port uint16) string
}

// ownNetworkProxyPort is the port of the proxy in a command's own network.
const ownNetworkProxyPort = 3128

// ProxyPort returns the port at which a command finds its proxy: a fixed one in a network of its
// own, and otherwise one that the proxy opens.
func ProxyPort(p sandbox.Policy, proxy Proxy) (uint16, error) {
	if p.OwnNetwork {
		return ownNetworkProxyPort, nil
	}
	return proxy.Listen()
}
