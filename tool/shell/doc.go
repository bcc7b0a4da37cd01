// Package shell lets a model run commands: the tools "shell" and "job", and
// [Jobs], which keeps what outlives a call for as long as the session lives.
//
// A call ends when its command exits (C8), at its timeout, or when its context
// is cancelled; everything that it started is dead then (C7). What a command
// leaves behind when it exits by itself becomes a job:
//
//	call ─ exit, others left ─┐
//	call with "background" ───┴→ job ─ all exited → exited
//	                              ├─ kill, Close  → killed
//	                              └─ release      → released (it outlives settle)
//
// A job's start and end are told to a [Registry], which puts them into the
// session's log. Output is kept in bounded memory: beginning and end for the
// model, the whole in a file up to a cap.
package shell
