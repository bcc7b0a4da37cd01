// Package oneturn runs one prompt as one turn, for the commands that do that and
// exit: it submits the prompt, ends the turn when it is told to, and says how it
// ended. How the turn is shown is a view's.
//
//	open ─► submit ─► show events ─► terminal event ─► close ─► exit code
//	          │            ▲ stop: signal, stdout closed (a second one: no grace)
//	          └ refused: 2
//
// The package owns no state of the turn: views read the session's events like
// any other subscriber (C17), and every wait for a reader of what they show has
// an end.
package oneturn
