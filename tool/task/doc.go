// Package task lets a model start child agents and manage them: task starts one, check_task
// shows its state, message_task sends it a message and cancel_task ends it.
//
// The package owns the model's texts. A [Spawner] starts the children; each is a session of
// its own.
//
//	task ─► foreground: the call ends with the child's answer
//	     └► background: the call ends at once; a note reports the child's end
//
// Read task.go first; spawner.go has the interfaces, which package internal/agents
// implements.
//
// Other files:
//
//   - kind.go: kinds of child agents, which only restrict
//   - args.go: names and arguments of the tools
//   - text.go: the report that the parent's model receives
package task
