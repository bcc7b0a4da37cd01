package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// Dialer connects to public addresses only. Its zero value resolves and connects like package
// net.
type Dialer struct {
	// Lookup resolves a name; nil asks the system.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Connect connects by TCP; nil uses package net.
	Connect func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Permit allows addresses that are not public; nil allows none.
	Permit func(to netip.AddrPort) bool
}

// PrivateError reports a name without a public address.
type PrivateError struct {
	Host string
	// Address is one of the name's addresses.
	Address netip.Addr
}

func (e *PrivateError) Error() string {
	if e.Host == e.Address.String() {
		return fmt.Sprintf("cannot connect to %s: it is not a public address", e.Host)
	}
	return fmt.Sprintf("cannot connect to %q: %s is not a public address", e.Host, e.Address)
}

// DialContext connects to "host:port" by TCP, like [net.Dialer]: it suits [net/http.Transport].
// It resolves once, removes the addresses that are not public, and tries the others in order.
// For a name without public addresses, it returns a [*PrivateError].
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, fmt.Errorf("cannot connect to %q: %s is not TCP", address, network)
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %q: %w", address, err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %q: its port is no number", address)
	}
	to, err := d.resolve(ctx, host, uint16(port))
	if err != nil {
		return nil, err
	}
	var failed error
	for _, at := range to {
		if network == "tcp4" && !at.Addr().Is4() || network == "tcp6" && !at.Addr().Is6() {
			continue
		}
		conn, err := d.connect(ctx, at)
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	if failed == nil {
		failed = fmt.Errorf("cannot connect to %q: it has no address for %s", host, network)
	}
	return nil, failed
}

// maxAddresses bounds the tried addresses of a name.
const maxAddresses = 8

// resolve returns the permitted addresses of a host with the port; at least one.
func (d *Dialer) resolve(ctx context.Context, host string, port uint16) ([]netip.AddrPort, error) {
	var found []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{a}
	} else if found, err = d.lookup(ctx, host); err != nil {
		return nil, fmt.Errorf("cannot resolve %q: %w", host, err)
	}
	var out []netip.AddrPort
	for _, a := range found {
		at := netip.AddrPortFrom(a.Unmap(), port)
		if Public(a) || d.Permit != nil && d.Permit(at) {
			out = append(out, at)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("cannot resolve %q: it has no address", host)
	case len(out) == 0:
		return nil, &PrivateError{Host: host, Address: found[0].Unmap()}
	}
	return out[:min(len(out), maxAddresses)], nil
}

func (d *Dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if d.Lookup != nil {
		return d.Lookup(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func (d *Dialer) connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	if d.Connect != nil {
		return d.Connect(ctx, to)
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", to.String())
}
