// Package crash drives the built binary from outside and kills it: a run with
// commands of every kind in flight gets SIGKILL at a random instant, again and
// again. Each time, no process of the run must survive. The session must open again
// and complete a turn against the strict model server. No call must have run twice,
// and the log must keep the contract.
//
//	start ─► events 1…k, a little more ─► kill -9 ─► nothing runs ─► next turn ─► contract.Check
//
// The package has only tests, which need /proc. "make crash N=2000" kills more
// often than "go test" does.
package crash
