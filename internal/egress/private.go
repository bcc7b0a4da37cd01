package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Private are allowed addresses that are not public, including this machine's. The zero value
// allows none.
type Private []private

type private struct {
	prefix netip.Prefix
	port   uint16 // 0 for any
}

// ParsePrivate parses addresses, with or without a port, and blocks.
func ParsePrivate(texts []string) (all Private, err error) {
	for _, text := range texts {
		p, failed := parsePrivate(text)
		all, err = append(all, p), errors.Join(err, failed)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

func parsePrivate(text string) (private, error) {
	if a, err := netip.ParseAddrPort(text); err == nil {
		return private{netip.PrefixFrom(a.Addr().Unmap(), a.Addr().Unmap().BitLen()), a.Port()}, nil
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return private{netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), 0}, nil
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return private{p.Masked(), 0}, nil
	}
	return private{}, fmt.Errorf(
		"%q is neither an address (127.0.0.1), one with a port (127.0.0.1:3000), nor a block (10.0.0.0/8)", text,
	)
}

// Permits reports whether an address is listed.
func (all Private) Permits(to netip.AddrPort) bool {
	return slices.ContainsFunc(all, func(p private) bool {
		return p.prefix.Contains(to.Addr().Unmap()) && (p.port == 0 || p.port == to.Port())
	})
}
