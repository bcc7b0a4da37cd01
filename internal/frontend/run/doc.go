// Package run is the frontend for shells and scripts: one prompt, one turn, an exit code.
// Package oneturn runs the turn; this package shows it. Start with options.go.
//
// There are three ways to show a turn. On a terminal, the answer streams to standard output
// and everything else goes to standard error (text_view.go, status.go). Elsewhere, standard
// output receives only the final answer, and standard error is silent unless something
// fails. As JSON (json_view.go), standard output receives one event a line, and the last line is
// the turn's terminal event.
//
// Other files:
//
//   - ending.go: the last lines: plan, changes, outcome
//   - late_notices.go: notices that follow the cause of a failure
//   - silence.go: reports that the model is silent
//   - review.go: reports that a reviewer takes long
//   - questions.go: questions to a person at the terminal
package run
