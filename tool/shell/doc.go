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
//
// Other files:
//
//   - jobs.go: starts, keeps and forgets a session's jobs
//   - job.go: one job: its output, its end
//   - job_read.go: what a read of a job returns; waits for lines or ports
//   - args.go: arguments of the shell tool, and their limits
//   - excerpt.go: the beginning and end that the model receives
//   - judgeable.go: whether the policy can read a command beforehand
//   - reattach.go: commands that a new host takes over
//   - sweep.go: ends processes whose supervisors were killed
//   - text.go: a program's output as text
//   - words.go: names of signals and lists of processes
//
// How many jobs a session keeps, and which ended job is forgotten, is decided in jobs.go; package
// session only records jobs.
package shell
