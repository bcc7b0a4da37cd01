// Package soak plays one long session, with real files: thousands of steps in many turns, child
// agents, and a window so small that the history is compacted again and again. After each
// compaction, a request must have every input of the user, the open plan and the child agents that
// run. At the end, a step costs as much as at the beginning, nothing is left open, and the session
// is opened again.
//
//	go test ./internal/test/soak -v -steps 2000
//
// The package has only tests.
package soak
