// Package demo shows settle's guarantees without a key and without a network. A scripted
// model drives the real engine with real tools, processes and a real log, in a temporary
// directory. script.go has the model, demo.go the sequence.
//
//	turn 1: a question before an edit ─► answered ─► the change
//	turn 2: text ─► two calls at once ─► a call that ignores TERM ─► interrupted
//	turn 3: in another process, which is killed during a call (kill.go)
//	turn 4: the log is opened again, and the model receives the outcome ─► completed
//
// Other files:
//
//   - next.go: commands to try next, by keys and servers
package demo
