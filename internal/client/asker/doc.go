// Package asker has a person at a client asked about calls that may not run by
// themselves. A protocol supplies how to ask; what holds for all of them is here
// (C16):
//
//	approval.requested ─► Ask: the question goes out, in its place among the events
//	                        └► Await: the answer is given to the session
//	approval.ended ─────► Withdraw: by whoever answered, a policy, or the turn's end
//
// Of several that follow one turn, one asks. A question ends with its approval. A
// late answer runs nothing. Where nobody can be asked, Ask says which policy
// answers. Where the client cannot answer, the call is denied and the model is
// told why.
package asker
