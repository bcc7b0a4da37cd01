// Package temporaldev starts Temporal's development server as a process of its own,
// for trying the fleet out and for tests. It is the program settle-fleet-temporal, a Go
// module of its own, and ends with the program that started it:
//
//	Start ─► settle-fleet-temporal ─► HOST:PORT ─► Stop | this process dies
package temporaldev
