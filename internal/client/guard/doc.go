// Package guard protects an HTTP server whose clients can run commands on this machine. It
// checks the listener, the token, the host name and the origin, and limits the rate of each
// address. The HTTP frontends combine these checks.
//
//	connection ─► Listen: loopback, or TLS; a bounded number at a time
//	request ─► Names ─► Clean ─► SameOrigin ─► Door: the token, and a rate
package guard
