// Package temporaldev starts Temporal's development server as a process of its own,
// for trying the fleet out and for tests. The server ends with the program that started it:
//
//	Find ─► temporal server start-dev | settle-fleet-temporal
//	Start ─► the server ─► HOST:PORT, URL of the web UI ─► Stop | this process dies
//
// The program temporal is Temporal's own; settle-fleet-temporal is the same server with
// the same UI, a Go module of this repository. program.go chooses one and has its command
// line; start.go runs it.
package temporaldev
