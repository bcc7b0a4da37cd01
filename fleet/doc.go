// Package fleet has the types that a fleet of workers shares: the task, its
// result, and the [Engine] that gives tasks to workers.
//
// A task is one input of a session, run to its end by one worker at a time:
//
//	Submit ─► queued ─► running ─► ended        completed | failed | aborted
//	             ▲  ▲      │ │ attempt 1, 2, …: each takes a greater epoch of the session
//	             │  └──────┘ │ the worker shuts down, dies, or is not heard
//	             └── held ◄──┘ a call waits for a person; a verdict about it queues the task
//
// Its id is SESSION/INPUT, so that submitting it again changes nothing. The log of
// the session is elsewhere (package pglog): the engine says who may write it, never
// what is true of it.
//
// Files:
//
//   - task.go: tasks, their limits, states
//   - complete.go: checks and defaults of a task's fields
//   - client.go: submits tasks and waits for them
//   - wait.go: waits until tasks have ended
//   - engine.go: the interface of an engine
//   - mask.go: removes secrets of a task
//   - workspace.go: the workspace of a session
package fleet
