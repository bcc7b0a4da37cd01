// Package handstest gives a test hands that are on another machine, as far as processes
// can tell: a host that starts them for each connection, as sshd does. The test binary
// is the hands and the way to them, see [Play].
//
// Files:
//
//   - host.go: a machine with an executor
//   - play.go: the roles of the test program
package handstest
