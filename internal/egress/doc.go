// Package egress decides which connections may leave this machine.
//
// [Public] says whether an address is one of the public internet, and a
// [Dialer] connects to nothing else: it resolves a name itself, judges the
// addresses, and connects to the address that it judged, so that no second
// answer of a name server can lead elsewhere.
//
// A [Gate] is the way out of one confined command: a proxy (HTTP, CONNECT and
// SOCKS5 on one port) that knows the command by a secret, lets it reach the
// hosts of a [List], and keeps account of what it refused.
//
//	command ─► gate: secret? ─► list: host, port? ─► dialer: address? ─► host
//	              └ 407          └ 403, recorded      └ 403, recorded
package egress
