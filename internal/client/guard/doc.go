// Package guard protects an HTTP server whose clients can run commands on this machine. It
// checks the listener, the token, the host name and the origin, and limits the rate of each
// address. The HTTP frontends combine these checks.
//
//	connection ─► Listen: loopback, or TLS; a bounded number at a time
//	request ─► Names ─► Clean ─► SameOrigin ─► Admission: the token, and a rate
//
// Files:
//
//   - admission.go: admits a request by its token and the rate of its address
//   - flags.go: the flags --token-file, --tls-cert, --tls-key, --insecure
//   - listen.go: addresses, loopback or TLS, the number of connections
//   - origin.go: host names, canonical paths, the same origin
//   - rate.go: the rate limit of each address; what a wrong token costs
//   - serve.go: default rates, timeouts and header sizes of the server
//   - token.go: makes, reads and compares tokens
//   - unix.go: a Unix socket that only the user can reach
//
// A frontend decides which routes need a token; what Admission admits, and at what rate, is
// decided here.
package guard
