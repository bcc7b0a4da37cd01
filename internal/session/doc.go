// Package session runs one session: a single actor that starts turns, one
// after the other, and answers those who wait for their ends.
//
//	idle ── input ──► running ── turn.* ──► idle ── Close ──► closed
//	                    │ interrupt, replace: cancel, with the cause
//	                    └ input: waits (queue, steer), or takes its place (replace)
//
// An input may have to be expanded first, which the actor does not wait for (expand.go).
// What is running and what waits is read off the log (C3); the actor owns only
// what cannot be written down: the function that cancels the running turn, and
// the callers that wait for its end.
package session
