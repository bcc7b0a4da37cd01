// Package run is the way in for shells and scripts: one prompt, one turn, an
// exit code. It submits the prompt, shows what happens, ends the turn when it
// is told to, and says how it ended.
//
//	open ─► submit ─► show events ─► terminal event ─► close ─► exit code
//	          │            ▲ stop: signal, stdout closed (a second one: no grace)
//	          └ refused: 2
//
// There are three ways to show a turn. On a terminal the answer streams to
// standard output and everything else goes to standard error. Elsewhere
// standard output gets the final answer and nothing else, and standard error
// is silent until something is wrong. As JSON, standard output gets one event
// a line, and the last line is the turn's terminal event.
//
// The package owns no state of the turn: it reads the session's events like
// any other subscriber (C17), and every wait for a reader of its output has an
// end.
package run
