package proc

import (
	"os"

	"github.com/settle-agent/settle/internal/sandbox"
)

// Gate is the proxy of a command whose box has the network [sandbox.Proxied].
type Proxy interface {
	// Listen opens it at a port of this machine's loopback, and ServeFile at a
	// listening socket, which it closes.
	Listen() (port uint16, err error)
	ServeFile(listener *os.File)
	// URL is what a program has as its proxy, where that is at a port.
	URL(port uint16) string
}

// doorPort is where a command in a network of its own finds its proxy.
const ownNetworkProxyPort = 3128

// DoorPort returns the port at which a proxied command is to find a gate: in a
// network of its own one that is always free there, behind the door; else one that
// the gate is opened at.
func ProxyPort(p sandbox.Policy, gate Proxy) (uint16, error) {
	if p.OwnNetwork {
		return ownNetworkProxyPort, nil
	}
	return gate.Listen()
}
