// Package run is the way in for shells and scripts: one prompt, one turn, an
// exit code. oneturn runs the turn; here is how it is shown.
//
// There are three ways to show a turn. On a terminal the answer streams to
// standard output and everything else goes to standard error. Elsewhere
// standard output gets the final answer and nothing else, and standard error
// is silent until something is wrong. As JSON, standard output gets one event
// a line, and the last line is the turn's terminal event.
package run
