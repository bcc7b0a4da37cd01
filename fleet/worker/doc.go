// Package worker runs the tasks that an engine gives it, each in its session:
//
//	activity  ─► Attempt ─► open the session with its epoch (recovery ends a dead worker's turn)
//	                └─► state of the input in the log:
//	                      unknown            submit it
//	                      its turn ended     that is the result
//	                      its turn crashed,  a new input continues from there (C18); calls that
//	                      or never began     had started are not run again (C5)
//	             ─► turn ends ─► session closes ─► Complete
//
// A worker that Temporal has not heard for too long, or whose epoch is old, ends the session's work, reports
// that, and leaves the task to its new worker. A turn that ended only because its worker
// stops continues on another worker.
//
// Files:
//
//   - worker.go: the number of tasks at a time, and the progress of attempts
//   - run.go: one attempt at a task
//   - hold.go: calls that wait for a person
//   - limit_wait.go: waits for rate limits, which count as progress
//   - progress.go: the state of a task in the log: whether a turn's end ends it
//   - budget.go: the budget of a batch
//   - workspace.go: workspaces of tasks with a repository
package worker
