// Package guard keeps those away from an HTTP server that should not reach it:
// whoever does can run commands here. It says what a listener, a token, a name
// and an origin must be, and how often an address may knock; the ways in over
// HTTP put these together.
//
//	connection ─► Listen: loopback, or TLS; so many at a time
//	request ─► Names ─► Clean ─► SameOrigin ─► Door: the token, and a rate
package guard
