// Package egress decides which connections may leave this machine.
//
// [Public] says whether an address is one of the public internet, and a
// [Dialer] connects to nothing else: it resolves a name itself, judges the
// addresses, and connects to the address that it judged, so that no second
// answer of a name server can lead elsewhere.
package egress
