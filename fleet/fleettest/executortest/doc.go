// Package executortest gives a test an executor on another machine, as far as processes
// can tell: a host that starts them for each connection, as sshd does. The test binary
// is the executor and the proxy to it, see [Play].
//
// Files:
//
//   - host.go: a machine with an executor
//   - play.go: the roles of the test program
package executortest
