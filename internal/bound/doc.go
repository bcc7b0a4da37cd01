// Package bound bounds outside text and numbers: it cuts text, and adds numbers without overflow.
// Every layer cuts output and adds counts that a model, a tool or a server chose, so the package
// imports nothing of settle and every layer can import it.
//
//	Budget             a number of bytes that is left; it cannot go below zero
//	Head, Tail, Clip   one end of a text, cut between characters
//	Ends               both ends of a text, with the gap named
//	Add, Count         integers that saturate instead of wrapping around
//	Shared             a bounded number of values that sessions have in common
//
// Read budget.go first: a bare counter in the place of a Budget once ended a host.
//
// Other files:
//
//   - cut.go: cuts text at a limit
//   - number.go: sums and counts without overflow
//   - shared.go: makes a value once for all that need it
package bound
