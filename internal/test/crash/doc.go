// Package crash drives the built binary from outside and kills it: a run with
// commands of every kind in flight gets SIGKILL at a random instant, again and
// again. Each time, no process of the run must survive. The session must open again
// and complete a turn against the strict model server. No call must have run twice,
// and the log must keep the contract.
//
//	start ─► events 1…k, a little more ─► kill -9 ─► nothing runs ─► next turn ─► contract.Check
//
// The other tests kill settle where its work is not in the log alone: while commands
// change files that a rewind must restore (commands), in a git worktree (worktree_machine,
// with the tag machine), and as a detached host (detached).
//
// The package has only tests, which need /proc. "make crash N=2000" kills more
// often than "go test" does. Begin with kill_linux_test.go; binary_linux_test.go builds
// the binary and repeats the rounds.
package crash
