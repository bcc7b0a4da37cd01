// Package jobs is the user's way to the processes that sessions left running:
// list them, show what they put out, end them. It reads the logs of other
// processes' sessions and writes to none; whoever holds a session records how
// its jobs end.
//
//	job.started ─► running ─ job.ended ─► over
//	                  └───── released ─► outlives, until it is gone
//
// What runs is told by the processes themselves: each carries its job's mark in
// its environment. Where other processes' environments cannot be read, the
// session's host is taken at its word as long as it lives, and nothing is ended
// from here.
package jobs
