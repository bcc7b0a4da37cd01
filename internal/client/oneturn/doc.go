// Package oneturn runs one prompt as one turn, for commands that then exit. It submits the
// prompt, ends the turn after a stop, and returns the exit code. A view shows the turn.
// Start with turn.go; prompt.go reads the prompt, stopper.go collects stops.
//
//	open ─► submit ─► show events ─► terminal event ─► close ─► exit code
//	          │            ▲ stop: signal, stdout closed (a second one: no grace)
//	          └ refused: 2
//
// The package owns no state of the turn: views read the session's events like any other
// subscriber (C17). Every wait for a reader of the output has a bound.
//
// Other files:
//
//   - options.go: settings of a run; which view shows the turn
//   - answer.go: the file with the final answer
//   - unfinished.go: the prompt that continues what a crash cut
//   - held.go: the outcome of a held call, and which calls are held
//   - schema.go: checks the answer against a JSON Schema
package oneturn
