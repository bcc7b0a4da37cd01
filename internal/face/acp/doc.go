// Package acp speaks the Agent Client Protocol, version 1, with an editor or
// another client over the standard streams.
//
//	client ──► jsonrpc ──► Handle ──► session/new, load, prompt, cancel …
//	                                     │ Submit, Interrupt, Answer
//	                                     ▼
//	client ◄── updates, answers ◄── follower ◄── the session's events
//
// The face owns no turn state. Each session that a client has open has one
// follower, which reads the session's events in order and says what they mean in
// the protocol: an update, a request for permission, or, at the end of a turn,
// the answer to its prompts. So an answer always comes after the last update.
//
// A prompt goes in with an id of its own, and a cancel names the ids of the
// prompts that came before it (C10): it does not matter how far they have got.
// The protocol answers every prompt and has no queue to show. A prompt that an
// interrupt leaves waiting is taken back and answered as cancelled (C19).
//
// https://agentclientprotocol.com has the protocol; its schema is in the npm
// package @agentclientprotocol/sdk, against which the tests hold what is sent.
package acp
