package repo

import (
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
)

// remoteHost matches the host of a URL of git, or of "user@host:path".
var remoteHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[A-Za-z0-9+.-]+://)?(?:[^@/]*@)?(\[[^\]/]*\]|[^:/\[\]]+)[:/]`)
})

// IsThisMachine reports whether a URL of git, or "user@host:path", names this machine by its own name, a
// loopback address or an address of one of its network interfaces. It asks no name server, and knows no
// aliases of ssh.
func IsThisMachine(remote string) bool {
	m := remoteHost().FindStringSubmatch(remote)
	if m == nil {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(strings.Trim(m[1], "[]")), ".")
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsUnspecified() || isOwn(ip)
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	name, err := os.Hostname()
	own, _, _ := strings.Cut(strings.ToLower(name), ".")
	first, domain, _ := strings.Cut(host, ".")
	return err == nil && own != "" && first == own &&
		(domain == "" || domain == "local" || host == strings.ToLower(name))
}

// isOwn reports whether the address is that of a network interface.
func isOwn(ip net.IP) bool {
	list, _ := net.InterfaceAddrs() // without them, only loopback addresses are known
	for _, address := range list {
		if network, ok := address.(*net.IPNet); ok && network.IP.Equal(ip) {
			return true
		}
	}
	return false
}
