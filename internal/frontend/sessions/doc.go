// Package sessions shows, exports, checks and deletes the sessions of a data directory. It
// reads logs while other processes write them; only Delete takes a session's lock. Text
// from a model or a tool is neutralised before it reaches a terminal. Start with show.go
// for people, check.go for the contract's checker.
//
// Other files:
//
//   - list.go: columns and rows of settle sessions
//   - usage.go: settle usage
//   - compact.go: settle compact
//   - approvals.go: settle approvals
//   - interrupt.go: settle sessions interrupt
package sessions
