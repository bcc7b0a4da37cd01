// Package crash drives the built binary from outside and kills it: a run with
// commands of every kind in flight gets SIGKILL at a random instant, again and
// again. Each time nothing of it may be left running, the session must open
// again and complete a turn against the strict model server, no call may have
// been made twice, and the log must hold the contract.
//
//	start ─► events 1…k, a little more ─► kill -9 ─► nothing runs ─► next turn ─► contract.Check
//
// It has nothing but tests, which need /proc. "make crash N=2000" kills more
// often than "go test" does.
package crash
