package egress

import (
	"net/netip"
	"slices"
	"sync"
)

// special are the blocks of unicast addresses that lead to this machine, to its networks, or
// nowhere. The sources are IANA's special-purpose address registries (RFC 6890). The globally
// reachable parts of 192.0.0.0/24 and 2001::/23 have no HTTP or SSH servers, so that the whole
// blocks are refused.
var special = sync.OnceValue(func() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8",       // this network
		"10.0.0.0/8",      // private
		"100.64.0.0/10",   // behind a carrier's NAT; 100.100.100.200 is metadata at Alibaba
		"127.0.0.0/8",     // loopback
		"169.254.0.0/16",  // link-local; 169.254.169.254 is metadata nearly everywhere
		"172.16.0.0/12",   // private
		"192.0.0.0/24",    // protocols; 192.0.0.192 is metadata at Oracle
		"192.0.2.0/24",    // documentation
		"192.88.99.0/24",  // relays of 6to4
		"192.168.0.0/16",  // private
		"198.18.0.0/15",   // benchmarks
		"198.51.100.0/24", // documentation
		"203.0.113.0/24",  // documentation
		"224.0.0.0/3",     // multicast, reserved, broadcast

		"168.63.129.16/32", // looks public, and is metadata at Azure

		"2001::/23",     // protocols, Teredo
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4, which holds an address of version 4
		"3fff::/20",     // documentation
	)
})

var (
	global6 = sync.OnceValue(
		func() netip.Prefix { return netip.MustParsePrefix("2000::/3") },
	) // all that is given out of version 6
	nat64 = sync.OnceValue(
		func() netip.Prefix { return netip.MustParsePrefix("64:ff9b::/96") },
	) // RFC 6052; the last 32 bits are an address of version 4
)

func prefixes(list ...string) (out []netip.Prefix) {
	for _, text := range list {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// Public reports whether an address belongs to the public internet: not to this machine, a
// private or local network, a cloud's metadata service, a multicast group, or a reserved block.
// An address that contains another one (mapped, NAT64) is judged by the inner one.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	if a = a.Unmap(); nat64().Contains(a) {
		last := a.As16()
		a = netip.AddrFrom4([4]byte(last[12:]))
	}
	if a.Is6() && !global6().Contains(a) {
		return false
	}
	return !slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(a) })
}
