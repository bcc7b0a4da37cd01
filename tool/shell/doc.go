// Package shell lets a model run commands: the tools "shell" and "job", and [Jobs], which
// keeps the processes that outlive a call until the session ends.
//
// A call ends when its command exits (C8), at its timeout, or when its context is
// cancelled; all its processes have then ended (C7). Processes that a command leaves
// running when it exits become a job:
//
//	call ─ exit, others left ─┐
//	call with "background" ───┴→ job ─ all exited → exited
//	                              ├─ kill, Close  → killed
//	                              └─ release      → released (it outlives settle)
//
// A [Registry] records a job's start and end in the session's log. Output uses bounded
// memory: beginning and end for the model, the whole in a file up to a limit.
//
// Read shell.go (a call) first, then jobs.go (the session's processes) and job_tool.go.
// capture.go stores output, progress.go bounds what is passed on while a command runs,
// environment.go makes the command's variables, config.go has the settings. Package policy decides whether a
// command runs and in which sandbox; package executor runs it; package proc ends its
// processes.
package shell
