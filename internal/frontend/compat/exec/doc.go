// Package exec is the way in for programs that were written for "codex exec":
// one prompt, one turn, and a line of JSON for each thing that happens.
//
//	thread.started ─► turn.started ─► items ─► turn.completed | turn.failed
//	                                  item: started ─► updated* ─► completed
//	refused before that ────────────► error, turn.failed
//
// client/oneturn runs the turn, and frontend/compat/codex knows what that agent's flags
// come to in settle; here is what its events are in the other agent's words.
// There are no words for an interrupt: a turn that somebody ended has failed, and
// the message says why. What a failed attempt said is shown once, when it is sure
// that no later attempt says it anew.
package exec
