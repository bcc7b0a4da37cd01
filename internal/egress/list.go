package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// List is the list of allowed hosts; the zero value allows none.
type List []Host

// Host is an entry of a List: hosts by name, or addresses, at some ports.
type Host struct {
	// name is a host, or, with every, all hosts below it; "" with every is all hosts. Without a
	// name, the entry is the prefix.
	name   string
	every  bool
	prefix netip.Prefix
	// port is 0 for the default ports; any is all ports.
	port uint16
	any  bool
}

// isDefaultPort reports whether entries without a port include the port: ssh, HTTP, HTTPS.
func isDefaultPort(port uint16) bool { return port == 22 || port == 80 || port == 443 }

// ParseList parses the entries of a List.
func ParseList(texts []string) (l List, err error) {
	for _, text := range texts {
		h, failed := ParseHost(text)
		l, err = append(l, h), errors.Join(err, failed)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// ParseHost reads an entry:
//
//	example.com          the host, at the ports 22, 80 and 443
//	example.com:8080     at that port; ":*" is every port
//	*.example.com        the hosts below it
//	*                    every host that has a public address
//	10.1.2.3, 10.0.0.0/8 addresses; those that are not public may be
//	                     connected to only if they are listed
func ParseHost(text string) (Host, error) {
	fail := func(why string) (Host, error) { return Host{}, fmt.Errorf("%q is no host: %s", text, why) }
	var h Host
	rest := strings.ToLower(strings.TrimSpace(text))
	if strings.Contains(rest, "://") {
		return fail("leave the scheme out")
	}
	rest, port, hasPort := cutPort(rest)
	switch n, err := strconv.ParseUint(port, 10, 16); {
	case port == "*":
		h.any = true
	case hasPort && (err != nil || n == 0):
		return fail("its port is no number from 1 to 65535")
	default:
		h.port = uint16(n)
	}
	if inner, ok := strings.CutPrefix(rest, "["); ok {
		if rest, ok = strings.CutSuffix(inner, "]"); !ok {
			return fail("its bracket is open")
		}
	}
	if p, err := netip.ParsePrefix(rest); err == nil {
		h.prefix = p.Masked()
		return h, nil
	}
	if a, err := netip.ParseAddr(rest); err == nil {
		if a = a.Unmap(); a.Zone() != "" || local(a) {
			return fail("addresses of a link and of metadata services cannot be reached")
		}
		h.prefix = netip.PrefixFrom(a, a.BitLen())
		return h, nil
	}
	if rest == "*" {
		h.every = true
		return h, nil
	}
	h.name, h.every = strings.CutPrefix(rest, "*.")
	if h.name = strings.TrimSuffix(h.name, "."); !isName(h.name) {
		return fail("neither a name (in ASCII, with * only for a whole beginning), nor an address")
	}
	return h, nil
}

// cutPort splits off the port: "host:80", "[::1]:80", "::/0:80"; but not "::1".
func cutPort(text string) (host, port string, ok bool) {
	at, slash := strings.LastIndexByte(text, ':'), strings.IndexByte(text, '/')
	if at < 0 || strings.Count(text, ":") > 1 && text[at-1] != ']' && (slash < 0 || slash > at) {
		return text, "", false
	}
	return text[:at], text[at+1:], true
}

// isName reports whether s can be the lower-case name of a host.
func isName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// local reports whether an address is never allowed: link-local addresses and the metadata
// services of clouds. A listed network does not include them.
func local(a netip.Addr) bool {
	return a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() || slices.Contains(metadata(), a)
}

func metadata() []netip.Addr {
	return []netip.Addr{
		netip.AddrFrom4(
			[4]byte{100, 100, 100, 200},
		),
		netip.AddrFrom4([4]byte{168, 63, 129, 16}),
		netip.AddrFrom4([4]byte{192, 0, 0, 192}),
		netip.MustParseAddr("fd00:ec2::254"),
		netip.MustParseAddr("fd20:ce::254"),
	}
}

// at reports whether the entry includes a port.
func (h Host) at(port uint16) bool {
	return h.any || h.port == port || h.port == 0 && isDefaultPort(port)
}

// Target is the destination of a command's connection.
type Target struct {
	Host string // a name in lower case, or an address in netip's form
	Port uint16
}

func (t Target) String() string { return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port))) }

// parseTarget parses "host:port".
func parseTarget(text string) (Target, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Target{}, fmt.Errorf("cannot read %q: %w", text, err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return Target{}, fmt.Errorf("cannot read %q: its port is no number", text)
	}
	return newTarget(host, uint16(n))
}

func newTarget(host string, port uint16) (Target, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return Target{a.Unmap().String(), port}, nil
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !isName(host) {
		return Target{}, fmt.Errorf("cannot read %q: it is no host", host)
	}
	return Target{host, port}, nil
}

// Allows reports whether the target is listed. The addresses of a listed name can still be
// forbidden: see Permits.
func (l List) Allows(t Target) bool {
	a, err := netip.ParseAddr(t.Host)
	return slices.ContainsFunc(l, func(h Host) bool {
		switch {
		case !h.at(t.Port):
			return false
		case h.every && h.name == "":
			return err != nil || Public(a)
		case err == nil:
			return h.prefix.IsValid() && h.prefix.Contains(a) && !local(a)
		case h.every:
			return strings.HasSuffix(t.Host, "."+h.name)
		}
		return h.name != "" && h.name == t.Host
	})
}

// Permits reports whether an address is listed itself, so that it need not be public.
func (l List) Permits(to netip.AddrPort) bool {
	return to.Addr().Zone() == "" && !local(to.Addr()) && slices.ContainsFunc(l, func(h Host) bool {
		return h.prefix.IsValid() && h.prefix.Contains(to.Addr()) && h.at(to.Port())
	})
}
