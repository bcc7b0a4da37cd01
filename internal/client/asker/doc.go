// Package asker asks a person at a client about tool calls that need an approval. A
// protocol supplies the way to ask. The rules for all protocols are here (C16):
//
//	approval.requested ─► Ask: the question goes out, in its place among the events
//	                        └► Await: the session receives the answer
//	approval.ended ─────► Withdraw: a client, a policy or the turn's end has answered
//
// If several clients follow a turn, one of them asks. A question ends with its approval. A
// late answer runs nothing. If no client can be asked, Ask names the policy that answers.
// If the client cannot answer, the call is denied and the model reads the reason. Start
// with asker.go; form.go fills in the forms of MCP servers, words.go writes questions as
// text, layout.go breaks it into rows, choices.go has the answers with their numbers and letters.
package asker
