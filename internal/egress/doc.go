// Package egress decides which connections may leave this machine. Read proxy.go first.
//
// [Public] reports whether an address belongs to the public internet, and a [Dialer]
// connects only to such addresses: it resolves a name itself, checks the addresses, and
// connects to a checked address, so that a second answer of a name server has no effect.
//
// A [Proxy] is the egress proxy of one sandboxed command (HTTP and CONNECT in http.go,
// SOCKS5 in socks.go, on one port). It authenticates the command by a secret, allows the
// hosts of a [List], and records its refusals.
//
//	command ─► proxy: secret? ─► list: host, port? ─► dialer: address? ─► host
//	              └ 407           └ 403, recorded      └ 403, recorded
//
// redirect.go has the redirect policy of all clients of settle with credentials; tool/web has its
// own, without.
//
// Other files:
//
//   - list.go: the allowed hosts and their syntax
//   - private.go: addresses that are not public, by permission
//   - address.go: which addresses are public
//   - dial.go: connects, and refuses private addresses
//   - idle.go: ends connections without traffic, after the time that proxy.go has
package egress
