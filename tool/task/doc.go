// Package task lets a model start child agents and work with them: task starts
// one, check_task says what it does, message_task sends it a message and
// cancel_task ends it.
//
// The package owns what the model is told. A [Spawner] starts the children; each
// is a session of its own.
//
//	task ─► foreground: the call ends with the child's answer
//	     └► background: the call ends at once; a note tells the child's end
package task
